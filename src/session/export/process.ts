import { type ChildProcess, fork } from "node:child_process";
import { type Refusal, refusal } from "../../core/error.ts";
import {
  EXPORT_HEAP_BYTES_MAX,
  EXPORT_PACE_MS,
  EXPORT_PIECE_MS_MAX,
  EXPORT_UNREAD_MS_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { threadScript } from "../../platform/thread-script.ts";
import type { ExportFormat, ExportWriter, OpenedExport } from "./export.ts";
import { type ExportPermit, ExportPermits, type ExportReader } from "./permits.ts";
import { ExportBroken, type Exported } from "./source.ts";
import type { ExportJob, PageRequest, WriterMessage } from "./writer.ts";

/** What a process runs, and how much memory it may take. */
interface WriterProgram {
  readonly script: URL;
  readonly heapBytesMax: number;
}

const WRITER: WriterProgram = {
  script: threadScript("writer", import.meta.url),
  heapBytesMax: EXPORT_HEAP_BYTES_MAX,
};

/**
 * Writes exports, each in a process of its own. Texts of agents and clients can be made so that to
 * parse and format them takes seconds, or more memory than there may be: that ends their own export
 * and no other request. A thread would not do: if `JSON.parse` fills its heap, all threads end. The
 * process ends with its export, also if the reader leaves.
 */
export class ExportProcesses implements ExportWriter {
  readonly #clock: Clock;
  readonly #program: WriterProgram;
  readonly #permits: ExportPermits;
  readonly #open = new Set<ReadExport>();
  #isOver = false;

  constructor(clock: Clock, program = WRITER) {
    this.#clock = clock;
    this.#program = program;
    this.#permits = new ExportPermits(clock);
  }

  /** How many processes there are at the moment, and how many readers wait for one. */
  get counts() {
    return { processes: this.#open.size, waiting: this.#permits.waitingCount };
  }

  /** Answers with the first piece at hand, so that what fails before it is a refusal. */
  async open(
    exported: Exported,
    format: ExportFormat,
    { signal, ...reader }: ExportReader,
  ): Promise<Result<OpenedExport>> {
    const permit = await this.#permits.acquire({ ...reader, signal });
    if (!permit.ok) return permit;
    const process = this.#started(exported, format);
    if (!process.ok) {
      permit.value.release();
      return process;
    }
    const release = () => {
      signal.removeEventListener("abort", leave);
      this.#open.delete(read);
      permit.value.release();
    };
    const read = new ReadExport(process.value, this.#clock, { ...permit.value, release });
    const leave = () => void read.end();
    this.#open.add(read);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    const why = await read.begin();
    return why === null ? ok(read) : { ok: false, refusal: why };
  }

  /** Ends all processes, and resolves when they are gone. Exports break off in the middle. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#permits.end();
    await Promise.all([...this.#open].map((read) => read.end(STOPPING)));
  }

  #started(exported: Exported, format: ExportFormat): Result<ExportProcess> {
    // The server may have begun to stop since the permit was given.
    if (this.#isOver) return fail("server_stopping");
    try {
      return ok(new ExportProcess(this.#program, exported, format, this.#clock));
    } catch (thrown) {
      // `fork` throws some failures, and emits others.
      return {
        ok: false,
        refusal: givenUp(thrown instanceof Error ? thrown.message : String(thrown)).refusal,
      };
    }
  }
}

/**
 * An export with its reader, who takes its pieces one by one. A reader that does not come for the
 * next one is taken to have left, and sooner if another reader waits for the process (P10).
 */
class ReadExport implements OpenedExport {
  readonly #process: ExportProcess;
  readonly #clock: Clock;
  readonly #permit: ExportPermit;
  readonly pieces = this.#pieces();
  #next: string | null = null;
  #callOff: CallOff = () => {};

  constructor(process: ExportProcess, clock: Clock, permit: ExportPermit) {
    this.#process = process;
    this.#clock = clock;
    this.#permit = permit;
  }

  /** Waits for its first piece; answers why there is none. */
  async begin(): Promise<Refusal | null> {
    try {
      this.#next = await this.#process.next();
      this.#watch();
      return null;
    } catch (thrown) {
      await this.end();
      if (thrown instanceof ExportBroken) return thrown.refusal;
      throw thrown;
    }
  }

  async *#pieces(): AsyncGenerator<string> {
    try {
      while (this.#next !== null) {
        this.#watch();
        yield this.#next;
        this.#callOff();
        this.#next = await this.#process.next();
      }
    } finally {
      await this.end();
    }
  }

  /** A property, so that it can be passed on as it is. */
  readonly end = async (why = LEFT): Promise<void> => {
    this.#callOff();
    await this.#process.end(why);
    this.#callOff();
    this.#permit.release();
  };

  #watch(unreadMs = 0) {
    this.#callOff();
    this.#callOff = this.#clock.after(EXPORT_PACE_MS, () => {
      const ms = unreadMs + EXPORT_PACE_MS;
      if (ms >= EXPORT_UNREAD_MS_MAX) void this.end();
      else if (this.#permit.mustYield()) void this.end(SLOW);
      else this.#watch(ms);
    });
  }
}

const LEFT = givenUp("its reader has left, or its tenant is deleted");
const SLOW = givenUp("its reader is slow, and another waits");
const STOPPING = new ExportBroken(refusal("server_stopping"));

function givenUp(reason: string): ExportBroken {
  return new ExportBroken(refusal("export_given_up", { reason }));
}

const TOO_SLOW = `nothing of it was written for ${EXPORT_PIECE_MS_MAX} ms`;

/** What it may know of the server's environment: nothing that is secret. */
const PASSED_ON = ["NODE_COMPILE_CACHE", "TZ"];

/** One process. It is asked for pieces one by one, and asks for pages of the store meanwhile. */
class ExportProcess {
  readonly #exported: Exported;
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  /** What brings the next piece: first the job itself. */
  #request: ExportJob | "next";
  #failure: ExportBroken | null = null;
  #waiting: PromiseWithResolvers<WriterMessage> | null = null;

  constructor(program: WriterProgram, exported: Exported, format: ExportFormat, clock: Clock) {
    this.#exported = exported;
    this.#clock = clock;
    const { record, manifest } = exported;
    const env = Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]]));
    this.#child = fork(program.script, {
      env,
      execArgv: [`--max-old-space-size=${program.heapBytesMax / 1_048_576}`],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // A signal of the terminal is for the server, which ends this process with its export.
      detached: true,
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    const gone = (reason: string) => {
      this.#fail(givenUp(reason));
      resolve();
    };
    this.#child.on("message", (message: WriterMessage) => this.#waiting?.resolve(message));
    this.#child.on("error", ({ message }) => gone(message));
    this.#child.on("exit", () => gone("its process has ended"));
    this.#request = { format, record, manifest };
  }

  /** The next piece; null at the end of the file. */
  async next(): Promise<string | null> {
    let message = await this.#asked(this.#request);
    this.#request = "next";
    while (message.kind === "read") message = await this.#asked(await this.#page(message));
    if (message.kind === "broken") throw new ExportBroken(message.refusal);
    return message.kind === "piece" ? message.text : null;
  }

  async end(why: ExportBroken): Promise<void> {
    this.#fail(why);
    // One that never started has no number: what has the number in its place is a stranger.
    if (this.#child.pid !== undefined) this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #page(request: PageRequest) {
    const { source } = this.#exported;
    if (request.of === "turns") return source.turns(request.range);
    return request.of === "messages"
      ? source.messages(request.range)
      : source.events(request.range);
  }

  /** Sends a message, and resolves with the process's next one. */
  async #asked(message: object | string): Promise<WriterMessage> {
    if (this.#failure !== null) throw this.#failure;
    const waiting = Promise.withResolvers<WriterMessage>();
    // It may be rejected before it is awaited.
    waiting.promise.catch(() => {});
    this.#waiting = waiting;
    const callOff = this.#clock.after(EXPORT_PIECE_MS_MAX, () => void this.end(givenUp(TOO_SLOW)));
    try {
      // That it has ended meanwhile is known by its exit, and that it never started by its error.
      if (this.#child.pid !== undefined) this.#child.send(message, () => {});
      return await waiting.promise;
    } finally {
      callOff();
    }
  }

  #fail(why: ExportBroken) {
    this.#failure ??= why;
    this.#waiting?.reject(this.#failure);
  }
}

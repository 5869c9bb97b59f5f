import { Worker } from "node:worker_threads";
import { type Refusal, refusal } from "../../core/error.ts";
import {
  EXPORT_HEAP_BYTES_MAX,
  EXPORT_PIECE_MS_MAX,
  EXPORT_UNREAD_MS_MAX,
} from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { threadScript } from "../../platform/thread-script.ts";
import type { ExportFormat, ExportWriter, OpenedExport } from "./export.ts";
import { ExportPermits, type ExportReader } from "./permits.ts";
import { ExportBroken, type Exported } from "./source.ts";
import type { ExportJob, PageRequest, ThreadMessage } from "./worker.ts";

/** What a thread runs, and how much memory it may take. */
interface ThreadProgram {
  readonly script: URL;
  readonly heapBytesMax: number;
}

const WRITER: ThreadProgram = {
  script: threadScript("worker", import.meta.url),
  heapBytesMax: EXPORT_HEAP_BYTES_MAX,
};

/**
 * Writes exports, each in a thread of its own. Texts of agents and clients can be made so that to
 * parse and format them takes seconds: that may hold their own export, and no other request. The
 * thread ends with its export, also if the reader leaves.
 */
export class ExportThreads implements ExportWriter {
  readonly #clock: Clock;
  readonly #program: ThreadProgram;
  readonly #permits: ExportPermits;
  readonly #open = new Set<ReadExport>();

  constructor(clock: Clock, program = WRITER) {
    this.#clock = clock;
    this.#program = program;
    this.#permits = new ExportPermits(clock);
  }

  /** How many threads there are at the moment, and how many readers wait for one. */
  get counts() {
    return { threads: this.#open.size, waiting: this.#permits.waitingCount };
  }

  /** Answers with the first piece at hand, so that what fails before it is a refusal. */
  async open(
    exported: Exported,
    format: ExportFormat,
    { signal, ...reader }: ExportReader,
  ): Promise<Result<OpenedExport>> {
    const permit = await this.#permits.acquire({ ...reader, signal });
    if (!permit.ok) return permit;
    const thread = new ExportThread(this.#program, exported, format, this.#clock);
    const read = new ReadExport(thread, this.#clock, () => {
      signal.removeEventListener("abort", leave);
      this.#open.delete(read);
      permit.value();
    });
    const leave = () => void read.end();
    this.#open.add(read);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    const why = await read.begin();
    return why === null ? ok(read) : { ok: false, refusal: why };
  }

  /** Ends all threads, and resolves when they are gone. Exports break off in the middle. */
  async end(): Promise<void> {
    this.#permits.end();
    await Promise.all([...this.#open].map((read) => read.end(STOPPING)));
  }
}

/**
 * An export with its reader, who takes its pieces one by one. A reader that does not come for the
 * next one is taken to have left.
 */
class ReadExport implements OpenedExport {
  readonly #thread: ExportThread;
  readonly #clock: Clock;
  readonly #ended: () => void;
  readonly pieces = this.#pieces();
  #next: string | null = null;
  #callOff: CallOff = () => {};

  constructor(thread: ExportThread, clock: Clock, ended: () => void) {
    this.#thread = thread;
    this.#clock = clock;
    this.#ended = ended;
  }

  /** Waits for its first piece; answers why there is none. */
  async begin(): Promise<Refusal | null> {
    try {
      this.#next = await this.#thread.next();
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
        this.#next = await this.#thread.next();
      }
    } finally {
      await this.end();
    }
  }

  /** A property, so that it can be passed on as it is. */
  readonly end = async (why = LEFT): Promise<void> => {
    this.#callOff();
    await this.#thread.end(why);
    this.#callOff();
    this.#ended();
  };

  #watch() {
    this.#callOff();
    this.#callOff = this.#clock.after(EXPORT_UNREAD_MS_MAX, () => void this.end());
  }
}

const LEFT = givenUp("its reader has left, or its tenant is deleted");
const STOPPING = new ExportBroken(refusal("server_stopping"));

function givenUp(reason: string): ExportBroken {
  return new ExportBroken(refusal("export_given_up", { reason }));
}

const TOO_SLOW = `nothing of it was written for ${EXPORT_PIECE_MS_MAX} ms`;

/** One thread. It is asked for pieces one by one, and asks for pages of the store meanwhile. */
class ExportThread {
  readonly #exported: Exported;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #gone: Promise<void>;
  #failure: ExportBroken | null = null;
  #waiting: PromiseWithResolvers<ThreadMessage> | null = null;

  constructor(program: ThreadProgram, exported: Exported, format: ExportFormat, clock: Clock) {
    this.#exported = exported;
    this.#clock = clock;
    const { record, manifest } = exported;
    const workerData: ExportJob = { format, record, manifest };
    const resourceLimits = { maxOldGenerationSizeMb: program.heapBytesMax / 1_048_576 };
    this.#worker = new Worker(program.script, { workerData, resourceLimits });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    this.#worker.on("message", (message: ThreadMessage) => this.#waiting?.resolve(message));
    this.#worker.on("error", ({ message }) => this.#fail(givenUp(message)));
    this.#worker.on("exit", () => {
      this.#fail(givenUp("its thread has ended"));
      resolve();
    });
  }

  /** The next piece; null at the end of the file. */
  async next(): Promise<string | null> {
    let message = await this.#asked("next");
    while (message.kind === "read") message = await this.#asked(await this.#page(message));
    if (message.kind === "broken") throw new ExportBroken(message.refusal);
    return message.kind === "piece" ? message.text : null;
  }

  async end(why: ExportBroken): Promise<void> {
    this.#fail(why);
    await this.#worker.terminate();
    await this.#gone;
  }

  #page(request: PageRequest) {
    const { source } = this.#exported;
    if (request.of === "turns") return source.turns(request.range);
    return request.of === "messages"
      ? source.messages(request.range)
      : source.events(request.range);
  }

  /** Sends a message, and resolves with the thread's next one. */
  async #asked(message: unknown): Promise<ThreadMessage> {
    if (this.#failure !== null) throw this.#failure;
    const waiting = Promise.withResolvers<ThreadMessage>();
    this.#waiting = waiting;
    const callOff = this.#clock.after(EXPORT_PIECE_MS_MAX, () => void this.end(givenUp(TOO_SLOW)));
    try {
      this.#worker.postMessage(message);
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

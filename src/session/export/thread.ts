import { Worker } from "node:worker_threads";
import { refusal } from "../../core/error.ts";
import {
  EXPORT_HEAP_BYTES_MAX,
  EXPORT_PIECE_MS_MAX,
  EXPORT_THREADS_MAX,
} from "../../core/limits.ts";
import type { Clock } from "../../platform/clock.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import { threadScript } from "../../platform/thread-script.ts";
import type { ExportFormat, ExportWriter } from "./export.ts";
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
  readonly #permits = new Semaphore(EXPORT_THREADS_MAX);
  readonly #threads = new Set<ExportThread>();
  #isOver = false;

  constructor(clock: Clock, program = WRITER) {
    this.#clock = clock;
    this.#program = program;
  }

  /** How many threads there are at the moment. */
  get count(): number {
    return this.#threads.size;
  }

  /** The pieces of a file. No thread is started before the first of them is wanted. */
  async *pieces(exported: Exported, format: ExportFormat): AsyncGenerator<string> {
    const release = await this.#permits.acquire();
    try {
      yield* this.#written(exported, format);
    } finally {
      release();
    }
  }

  async *#written(exported: Exported, format: ExportFormat): AsyncGenerator<string> {
    if (this.#isOver) throw STOPPING;
    const thread = new ExportThread(this.#program, exported, format, this.#clock);
    this.#threads.add(thread);
    try {
      let piece = await thread.next();
      while (piece !== null) {
        yield piece;
        piece = await thread.next();
      }
    } finally {
      await thread.end(STOPPING);
      this.#threads.delete(thread);
    }
  }

  /** Ends all threads, and resolves when they are gone. Exports break off in the middle. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#threads].map((thread) => thread.end(STOPPING)));
  }
}

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

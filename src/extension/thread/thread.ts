import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import {
  EXTENSION_BUFFER_BYTES_MAX,
  EXTENSION_CALLS_WAITING_MAX,
  EXTENSION_HEAP_MB_MAX,
  EXTENSION_MEMORY_LOOK_MS,
  EXTENSION_WAITING_CHARS_MAX,
  EXTENSION_YOUNG_HEAP_MB_MAX,
} from "../../core/limits.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import { threadScript } from "../../platform/thread-script.ts";
import {
  type ExtensionAnswer,
  type ExtensionCall,
  readAnswer,
  type ThreadNote,
  type ThreadStart,
  type ThreadWork,
} from "./messages.ts";

export interface ThreadOptions {
  readonly clock: Pick<Clock, "after">;
  /** It ended, of itself or because it did what it may not. */
  readonly ended: (why: string) => void;
  readonly noted: (note: ThreadNote) => void;
  /** In a test of its author: what it prints is seen, and the test can end without ending it. */
  readonly isPlayed?: boolean;
}

/** What the thread is asked for. */
export interface ThreadRequest {
  readonly work: ThreadWork;
  readonly hook?: string;
  readonly about?: string;
  readonly slot?: string | null;
  /** From when it is asked; an extension that does not keep to it is ended. */
  readonly msMax?: number;
}

interface AskedCall {
  readonly request: ThreadRequest;
  readonly callOff: CallOff;
  settle(answer: ExtensionAnswer): void;
  fail(why: Error): void;
}

const SCRIPT = threadScript("main", import.meta.url);

const LIMITS = {
  maxOldGenerationSizeMb: EXTENSION_HEAP_MB_MAX,
  maxYoungGenerationSizeMb: EXTENSION_YOUNG_HEAP_MB_MAX,
};

/**
 * The thread of one extension for one session: calls go in one by one, and only answers to them
 * come out. It is ended when it is late, when it has too much memory, and when it says anything
 * else. This keeps what fails from failing others. It keeps nothing secret: the code of an
 * extension may do on this machine what the server may.
 */
export class ExtensionThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #options: ThreadOptions;
  readonly #gone = Promise.withResolvers<void>();
  readonly #waiting: AskedCall[] = [];
  #waitingChars = 0;
  #current: AskedCall | null = null;
  #calls = 0;
  #why: string | null = null;
  #callOffLook: CallOff = () => {};

  constructor(start: Omit<ThreadStart, "port">, options: ThreadOptions) {
    this.#options = options;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const { isPlayed = false } = options;
    this.#worker = startedWith({ ...start, port: port2 }, isPlayed);
    port1.on("message", (value: unknown) => this.#receive(value));
    if (isPlayed) {
      this.#worker.unref();
      port1.unref();
    } else {
      // What it prints is read and dropped: it has a log for what the operator is to see.
      this.#worker.stdout.resume();
      this.#worker.stderr.resume();
    }
    this.#worker.on("error", (why: unknown) => this.end(reasonOf(why)));
    this.#worker.on("exit", (code) => {
      this.end(`its thread ended with code ${code}`);
      this.#gone.resolve();
    });
    this.#lookLater();
  }

  /** Resolves when the thread is gone. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Rejects if it throws, is late, or ends before it has answered. */
  ask(request: ThreadRequest): Promise<ExtensionAnswer> {
    if (this.#why !== null) return Promise.reject(new Error(this.#why));
    const { msMax, about = "" } = request;
    this.#waitingChars += about.length;
    const { length } = this.#waiting;
    const isFull = this.#waitingChars > EXTENSION_WAITING_CHARS_MAX;
    if (isFull || length >= EXTENSION_CALLS_WAITING_MAX) {
      this.end(`it is too slow: ${length} calls wait for it`);
      return Promise.reject(new Error(this.#why ?? ""));
    }
    const { promise, resolve, reject } = Promise.withResolvers<ExtensionAnswer>();
    const callOff =
      msMax === undefined
        ? () => {}
        : this.#options.clock.after(msMax, () => this.end(`it took longer than ${msMax} ms`));
    this.#waiting.push({ request, callOff, settle: resolve, fail: reject });
    this.#next();
    return promise;
  }

  /** Ends it at once, wherever it is; what waits for it is refused for this reason. */
  end(why: string) {
    if (this.#why !== null) return;
    this.#why = why;
    this.#callOffLook();
    this.#port.close();
    // Its end is waited for.
    this.#worker.ref();
    void this.#worker.terminate();
    const lost = [this.#current, ...this.#waiting.splice(0)].filter((one) => one !== null);
    this.#current = null;
    for (const { callOff, fail } of lost) {
      callOff();
      fail(new Error(why));
    }
    this.#options.ended(why);
  }

  #next() {
    if (this.#current !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#current = next;
    this.#waitingChars -= next.request.about?.length ?? 0;
    this.#calls += 1;
    const { work, hook, about = "null", slot } = next.request;
    const call: ExtensionCall = {
      n: this.#calls,
      work,
      about,
      ...(hook !== undefined && { hook }),
      ...(slot !== undefined && { slot }),
    };
    this.#port.postMessage(call);
  }

  #receive(value: unknown) {
    if (this.#why !== null) return;
    const answer = readAnswer(value);
    const current = this.#current;
    if (answer === null || current === null || answer.n !== this.#calls) {
      return this.end("it sent what is no answer to a call");
    }
    this.#current = null;
    current.callOff();
    for (const note of answer.notes) this.#options.noted(note);
    if (answer.isDone) current.settle(answer);
    else current.fail(new Error(answer.text));
    this.#next();
  }

  #lookLater() {
    this.#callOffLook = this.#options.clock.after(EXTENSION_MEMORY_LOOK_MS, () => {
      void this.#look().then(() => {
        if (this.#why === null) this.#lookLater();
      });
    });
  }

  /** Answers also while the thread is in a loop. Node before 22.16 cannot tell. */
  async #look(): Promise<void> {
    if (typeof this.#worker.getHeapStatistics !== "function") return;
    const found = await this.#worker.getHeapStatistics().catch(() => null);
    if (found === null || found.external_memory <= EXTENSION_BUFFER_BYTES_MAX) return;
    this.end(`its buffers took more than ${EXTENSION_BUFFER_BYTES_MAX} bytes of memory`);
  }
}

/** Throws if the system has no room for another thread. */
function startedWith(start: ThreadStart, prints: boolean): Worker {
  try {
    return new Worker(SCRIPT, {
      name: `extension ${start.id}`,
      workerData: start,
      transferList: [start.port],
      resourceLimits: LIMITS,
      // Variables of the server may be secrets, and its flags are not meant for others.
      env: {},
      argv: [],
      execArgv: [],
      stdout: !prints,
      stderr: !prints,
    });
  } catch (thrown) {
    start.port.close();
    throw thrown;
  }
}

/** Why a thread ended that did not end itself. */
function reasonOf(why: unknown): string {
  const code: unknown = Reflect.get(Object(why), "code");
  if (code === "ERR_WORKER_OUT_OF_MEMORY") {
    return `it took more than ${EXTENSION_HEAP_MB_MAX} MB of memory`;
  }
  return why instanceof Error ? why.message : String(why);
}

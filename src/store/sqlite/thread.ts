import { Worker } from "node:worker_threads";
import { STORE_CALLS_WAITING_MAX } from "../../core/limits.ts";

/** One call to a thread, and what came of it. */
export interface Call {
  readonly n: number;
  readonly op: string;
  readonly args: readonly unknown[];
}

export interface Answer {
  readonly n: number;
  readonly value: unknown;
}

/** The functions that a thread offers, by name. */
type Offer = Readonly<Record<string, (...args: never[]) => unknown>>;

/**
 * A thread that answers calls. Calls made in one go travel in one message, and so do the answers,
 * because a message costs far more than what is in it. Their values are copied when the message
 * is sent, which is not yet when the call returns. When the thread ends, every call that waits is
 * answered with the reason: nothing waits for ever.
 */
export class Thread<Ops extends Offer> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { settle(value: unknown): void; fail(why: Error): void }>();
  readonly #ended: Promise<void>;
  #outbox: Call[] = [];
  #calls = 0;
  #over: Error | null = null;

  constructor(script: URL, workerData: unknown) {
    this.#worker = new Worker(script, { workerData });
    this.#worker.on("message", (answers: readonly Answer[]) => this.#receive(answers));
    this.#worker.on("error", (why) => this.#fail(why));
    this.#ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        this.#fail(new Error("its thread has ended"));
        resolve();
      });
    });
  }

  call<Op extends keyof Ops & string>(
    op: Op,
    ...args: Parameters<Ops[Op]>
  ): Promise<ReturnType<Ops[Op]>> {
    if (this.#over !== null) return Promise.reject(this.#over);
    if (this.#waiting.size >= STORE_CALLS_WAITING_MAX) {
      return Promise.reject(new Error("too many calls are waiting for its thread"));
    }
    this.#calls += 1;
    const n = this.#calls;
    if (this.#outbox.length === 0) queueMicrotask(() => this.#send());
    this.#outbox.push({ n, op, args });
    return new Promise((resolve, fail) => {
      // The other end of the port is our own code, which answers by the same table of types.
      const settle = (value: unknown) => resolve(value as ReturnType<Ops[Op]>);
      this.#waiting.set(n, { settle, fail });
    });
  }

  /** Resolves when the thread has finished what it was given and is gone. */
  async end(): Promise<void> {
    this.#send();
    if (this.#over === null) this.#worker.postMessage([]);
    await this.#ended;
  }

  #send() {
    const calls = this.#outbox;
    this.#outbox = [];
    this.#post(calls);
  }

  #post(calls: readonly Call[]) {
    if (calls.length === 0 || this.#over !== null) return;
    try {
      this.#worker.postMessage(calls);
    } catch (thrown) {
      this.#sendOneByOne(calls, thrown);
    }
  }

  /** A value that cannot be copied fails the call that it came with, and no other. */
  #sendOneByOne(calls: readonly Call[], thrown: unknown) {
    const [only, ...others] = calls;
    if (only === undefined) return;
    if (others.length > 0) {
      for (const call of calls) this.#post([call]);
      return;
    }
    this.#waiting.get(only.n)?.fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
    this.#waiting.delete(only.n);
  }

  #receive(answers: readonly Answer[]) {
    for (const { n, value } of answers) {
      this.#waiting.get(n)?.settle(value);
      this.#waiting.delete(n);
    }
  }

  #fail(why: Error) {
    this.#over ??= why;
    for (const { fail } of this.#waiting.values()) fail(this.#over);
    this.#waiting.clear();
  }
}

/** Development runs the sources as they are, the package its compiled copy. */
export function threadScript(name: string, beside: string): URL {
  return new URL(`./${name}${beside.endsWith(".ts") ? ".ts" : ".js"}`, beside);
}

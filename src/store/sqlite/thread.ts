import { type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import {
  STORE_CALLS_WAITING_MAX,
  STORE_HEAVY_CALLS_MAX,
  STORE_THREAD_RESTART_MS_MAX,
  STORE_THREAD_RESTART_MS_MIN,
} from "../../core/limits.ts";
import type { ThreadAnswer, ThreadCall } from "./calls.ts";

/** The functions that a thread offers, by name. */
type Offer = Readonly<Record<string, (...args: never[]) => unknown>>;

/** What the calls of a thread are like. */
export interface CallRules {
  /** Its answer may be large, so only a few of these are with the thread at a time. */
  isHeavy(op: string): boolean;
  /** It changes nothing, so it is made again, once, if the thread ends before its answer. */
  isRepeatable(op: string): boolean;
  /** The thread has ended by itself, and another one will take its place. */
  hasEnded(why: Error): void;
}

interface Waiting {
  readonly call: ThreadCall;
  readonly isHeavy: boolean;
  /** How often it may still be sent to a new thread. */
  readonly repeatsLeft: number;
  settle(value: unknown): void;
  fail(why: Error): void;
}

/**
 * A thread that answers calls. Calls made in one go travel in one message, because a message costs
 * far more than what is in it. Their values are copied when the message is sent, which is not yet
 * when the call returns. When the thread ends by itself, every call that it had is answered with
 * the reason or made again, and a new thread takes its place soon after: no call waits
 * for ever.
 */
export class Thread<Ops extends Offer> {
  readonly #script: URL;
  readonly #workerData: unknown;
  readonly #manners: CallRules;
  readonly #ended = Promise.withResolvers<void>();
  /** What the thread has not been given yet, in the order in which it is to have it. */
  readonly #queue = new Map<number, Waiting>();
  readonly #sent = new Map<number, Waiting>();
  #heavySent = 0;
  #worker: Worker | null = null;
  #why: Error | null = null;
  #restart: NodeJS.Timeout | null = null;
  #restartMs = STORE_THREAD_RESTART_MS_MIN;
  #isSendingSoon = false;
  #isUp = false;
  #longestReadMs = 0;
  #phase: "open" | "ending" | "asked to end" = "open";
  #calls = 0;

  constructor(script: URL, workerData: unknown, manners: CallRules) {
    this.#script = script;
    this.#workerData = workerData;
    this.#manners = manners;
    this.#start();
  }

  /** Whether it has loaded its program, and so answers without that delay. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** The longest of its reads so far. */
  get longestReadMs(): number {
    return this.#longestReadMs;
  }

  /** Calls without an answer yet. */
  get openCalls(): number {
    return this.#sent.size + this.#queue.size;
  }

  call<Op extends keyof Ops & string>(
    op: Op,
    ...args: Parameters<Ops[Op]>
  ): Promise<ReturnType<Ops[Op]>> {
    // The other end of the port is our own code, which answers by the same table of types.
    return this.send(op, args) as Promise<ReturnType<Ops[Op]>>;
  }

  /** The same for a caller that has taken the operation from a table. */
  send(op: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#phase !== "open") return Promise.reject(new Error("its thread is ending"));
    if (this.openCalls >= STORE_CALLS_WAITING_MAX) {
      return Promise.reject(new Error("too many calls are waiting for its thread"));
    }
    this.#calls += 1;
    const call = { n: this.#calls, op, args };
    const isHeavy = this.#manners.isHeavy(op);
    const repeatsLeft = this.#manners.isRepeatable(op) ? 1 : 0;
    const { promise, resolve: settle, reject: fail } = Promise.withResolvers<unknown>();
    this.#queue.set(call.n, { call, isHeavy, repeatsLeft, settle, fail });
    this.#sendSoon();
    return promise;
  }

  /** Resolves when the thread has finished what it was given and is gone. */
  async end(): Promise<void> {
    if (this.#phase === "open") this.#phase = "ending";
    if (this.#worker === null) this.#over();
    else this.#send();
    await this.#ended.promise;
  }

  #start() {
    this.#restart = null;
    this.#why = null;
    try {
      const worker = new Worker(this.#script, { workerData: this.#workerData });
      worker.on("message", (answers: readonly ThreadAnswer[]) => this.#receive(answers));
      worker.on("error", (why) => {
        this.#why ??= why;
      });
      worker.on("exit", () => this.#exited());
      this.#worker = worker;
    } catch (thrown) {
      // The system has no room for another thread just now.
      this.#why = asError(thrown);
      this.#exited();
    }
  }

  #sendSoon() {
    if (this.#isSendingSoon) return;
    this.#isSendingSoon = true;
    queueMicrotask(() => {
      this.#isSendingSoon = false;
      this.#send();
    });
  }

  #send() {
    if (this.#worker === null) return;
    this.#post(this.#worker, this.#taken());
    if (this.#phase !== "ending" || this.#queue.size > 0) return;
    this.#phase = "asked to end";
    this.#worker.postMessage([]);
  }

  /** The calls that the thread may have now. None goes before one that was made earlier. */
  #taken(): readonly ThreadCall[] {
    const taken: ThreadCall[] = [];
    for (const [n, waiting] of this.#queue) {
      if (waiting.isHeavy && this.#heavySent >= STORE_HEAVY_CALLS_MAX) break;
      if (waiting.isHeavy) this.#heavySent += 1;
      this.#queue.delete(n);
      this.#sent.set(n, waiting);
      taken.push(waiting.call);
    }
    return taken;
  }

  #post(worker: Worker, calls: readonly ThreadCall[]) {
    if (calls.length === 0) return;
    try {
      worker.postMessage(calls);
    } catch (thrown) {
      this.#postOneByOne(worker, calls, thrown);
    }
  }

  /** A value that cannot be copied fails the call that it came with, and no other. */
  #postOneByOne(worker: Worker, calls: readonly ThreadCall[], thrown: unknown) {
    const [only, ...others] = calls;
    if (only === undefined) return;
    if (others.length > 0) for (const call of calls) this.#post(worker, [call]);
    else this.#answered(only.n)?.fail(asError(thrown));
  }

  /** No answers at all is the first message of a thread. */
  #receive(answers: readonly ThreadAnswer[]) {
    this.#isUp = true;
    if (answers.length > 0) this.#restartMs = STORE_THREAD_RESTART_MS_MIN;
    for (const { n, value, readMs = 0 } of answers) {
      this.#longestReadMs = Math.max(this.#longestReadMs, readMs);
      this.#answered(n)?.settle(value);
    }
    this.#send();
  }

  #answered(n: number): Waiting | undefined {
    const waiting = this.#sent.get(n);
    this.#sent.delete(n);
    if (waiting?.isHeavy) this.#heavySent -= 1;
    return waiting;
  }

  #exited() {
    this.#worker = null;
    this.#isUp = false;
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    this.#heavySent = 0;
    for (const waiting of lost) this.#repeat(waiting);
    if (this.#phase !== "open") return this.#over();
    this.#manners.hasEnded(this.#reason());
    // It doubles while no thread lives long enough to answer, so that none is started in a loop.
    this.#restart = setTimeout(() => {
      this.#start();
      this.#send();
    }, this.#restartMs);
    this.#restartMs = Math.min(this.#restartMs * 2, STORE_THREAD_RESTART_MS_MAX);
  }

  #repeat(waiting: Waiting) {
    const { call, repeatsLeft } = waiting;
    if (repeatsLeft === 0) return waiting.fail(this.#reason());
    this.#queue.set(call.n, { ...waiting, repeatsLeft: repeatsLeft - 1 });
  }

  /** No thread comes any more: what was not answered never will be. */
  #over() {
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    for (const { fail } of this.#queue.values()) fail(this.#reason());
    this.#queue.clear();
    this.#ended.resolve();
  }

  #reason(): Error {
    return this.#why ?? new Error("its thread has ended");
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/**
 * The thread's side of its port. All calls that arrived while the last batch was at work are taken
 * together, so the busier the store, the larger its batches. Which answers travel together is for
 * the work to say; it can ask whether further calls have come and wait for it. An empty message
 * means the end, and to the other side: it is up.
 */
export function serve(
  port: MessagePort,
  work: (
    calls: readonly ThreadCall[],
    isWaitedFor: () => boolean,
  ) => Iterable<readonly ThreadAnswer[]>,
  end: () => void,
) {
  const arrived: (readonly ThreadCall[])[] = [];
  const isWaitedFor = () => {
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      arrived.push(next.message);
    }
    return arrived.length > 0;
  };
  const workOff = () => {
    if (!isWaitedFor()) return;
    const messages = arrived.splice(0);
    const calls = messages.flat();
    if (calls.length > 0) {
      for (const answers of work(calls, isWaitedFor)) port.postMessage(answers);
    }
    const ending = messages.some(({ length }) => length === 0);
    if (!ending) {
      // No message will tell of those that came while there was work.
      if (arrived.length > 0) setImmediate(workOff);
      return;
    }
    end();
    port.close();
  };
  port.on("message", (first: readonly ThreadCall[]) => {
    arrived.push(first);
    workOff();
  });
  port.postMessage([]);
}

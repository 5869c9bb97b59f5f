// Which functions a running Node process executes between two moments, by V8's own count: asked for
// over the inspector, so that the measured program needs no line of code for it.

import { once } from "node:events";

interface FunctionCoverage {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly FunctionCoverage[];
}

/** One thread of the process; the inspector reaches worker threads through the main one. */
type Thread = string | null;

interface InspectorMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export class Coverage {
  readonly #socket: WebSocket;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #threads: Thread[] = [null];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(JSON.parse(String(data))));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#calls.values()) reject(new Error("the inspector is gone"));
    });
  }

  /** Attaches to a process by the address that `--inspect` printed, and to all its threads. */
  static async attach(url: string): Promise<Coverage> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    const coverage = new Coverage(socket);
    await coverage.#call(null, "NodeWorker.enable", { waitForDebuggerOnStart: false });
    for (const thread of coverage.#threads) {
      await coverage.#call(thread, "Profiler.enable");
      await coverage.#call(thread, "Profiler.startPreciseCoverage", { callCount: true });
    }
    await coverage.take();
    return coverage;
  }

  /**
   * The addresses of the scripts with a function that ran since the last call. That a module was
   * loaded does not count.
   */
  async take(): Promise<ReadonlySet<string>> {
    const urls = new Set<string>();
    for (const thread of this.#threads) {
      const taken = await this.#call(thread, "Profiler.takePreciseCoverage");
      for (const { url, functions } of (taken as { result: ScriptCoverage[] }).result) {
        if (functions.some(hasRun)) urls.add(url);
      }
    }
    return urls;
  }

  close() {
    this.#socket.close();
  }

  #call(thread: Thread, method: string, params: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    const message = JSON.stringify({ id, method, params });
    if (thread === null) this.#socket.send(message);
    else void this.#call(null, "NodeWorker.sendMessageToWorker", { message, sessionId: thread });
    return call.promise;
  }

  #receive({ id, method, params, result, error }: InspectorMessage) {
    if (method === "NodeWorker.attachedToWorker") this.#threads.push(params?.sessionId ?? null);
    if (method === "NodeWorker.receivedMessageFromWorker") {
      this.#receive(JSON.parse(params?.message ?? "{}"));
    }
    const call = id === undefined ? undefined : this.#calls.get(id);
    if (id === undefined || call === undefined) return;
    this.#calls.delete(id);
    if (error === undefined) call.resolve(result);
    else call.reject(new Error(error.message));
  }
}

/** The module itself counts as a function without a name that begins where the file begins. */
function hasRun({ functionName, ranges }: FunctionCoverage): boolean {
  const [whole] = ranges;
  if (whole === undefined || whole.count === 0) return false;
  return functionName !== "" || whole.startOffset > 0;
}

// Which functions a running Node process executes between two moments, by V8's own count: asked for
// over the inspector, so that the measured program needs no line of code for it.

import { once } from "node:events";
import { z } from "zod";

const functionCoverage = z.object({
  functionName: z.string(),
  ranges: z.array(z.object({ startOffset: z.number(), count: z.number() })),
});

const coverage = z.object({
  result: z.array(z.object({ url: z.string(), functions: z.array(functionCoverage) })),
});

const inspectorMessage = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.object({ sessionId: z.string().optional(), message: z.string().optional() }).optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** One thread of the process; the inspector reaches worker threads through the main one. */
type Thread = string | null;

export class Coverage {
  readonly #socket: WebSocket;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #threads: Thread[] = [null];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", () => {
      for (const { reject } of this.#calls.values()) reject(new Error("the inspector is gone"));
    });
  }

  /** Attaches to a process by the address that `--inspect` printed, and to all its threads. */
  static async attach(url: string): Promise<Coverage> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    const attached = new Coverage(socket);
    await attached.#call(null, "NodeWorker.enable", { waitForDebuggerOnStart: false });
    for (const thread of attached.#threads) {
      await attached.#call(thread, "Profiler.enable");
      await attached.#call(thread, "Profiler.startPreciseCoverage", { callCount: true });
    }
    return attached;
  }

  /**
   * The addresses of the scripts with a function that ran since the last call. That a module was
   * loaded does not count.
   */
  async take(): Promise<ReadonlySet<string>> {
    const urls = new Set<string>();
    for (const thread of this.#threads) {
      const taken = await this.#call(thread, "Profiler.takePreciseCoverage");
      for (const { url, functions } of coverage.parse(taken).result) {
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

  #receive(text: string) {
    const { id, method, params, result, error } = inspectorMessage.parse(JSON.parse(text));
    if (method === "NodeWorker.attachedToWorker") this.#threads.push(params?.sessionId ?? null);
    if (method === "NodeWorker.receivedMessageFromWorker") this.#receive(params?.message ?? "{}");
    const call = id === undefined ? undefined : this.#calls.get(id);
    if (id === undefined || call === undefined) return;
    this.#calls.delete(id);
    if (error === undefined) call.resolve(result);
    else call.reject(new Error(error.message));
  }
}

/** The module itself counts as a function without a name that begins where the file begins. */
function hasRun({ functionName, ranges }: z.output<typeof functionCoverage>): boolean {
  const [whole] = ranges;
  if (whole === undefined || whole.count === 0) return false;
  return functionName !== "" || whole.startOffset > 0;
}

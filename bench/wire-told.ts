import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A script in a process of its own: told one thing at a time, it does it and reports. */
export class ToldProcess<Order extends object, Report> {
  readonly #child: ChildProcess;

  constructor(script: URL, execArgv: string[] = []) {
    this.#child = fork(fileURLToPath(script), { execArgv });
  }

  async told(order: Order): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    const gone = () => reject(new Error("the process that was told is gone"));
    this.#child.once("message", resolve).once("exit", gone);
    this.#child.send(order);
    return promise.finally(() => this.#child.off("message", resolve).off("exit", gone));
  }

  /** Disconnects from the process, which then ends by itself. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await gone;
  }
}

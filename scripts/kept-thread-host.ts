import { syncBuiltinESMExports } from "node:module";
import threads, { type MessagePort } from "node:worker_threads";

/** What a thread is given to run. */
export interface Start {
  readonly script: string;
  readonly port: MessagePort;
  readonly workerData: unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const { parentPort: keeper } = threads;
let programs = 0;

// A program finds what it is given where it would find it in a thread of its own.
keeper?.on("message", async ({ script, port, workerData, env }: Start) => {
  Object.assign(threads, { parentPort: port, workerData });
  syncBuiltinESMExports();
  process.env = { ...env };
  // A program closes its port when it has done its work.
  port.once("close", () => keeper.postMessage("ended"));
  programs += 1;
  await import(`${script}?${programs}`);
});

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

/** What a process holds once its garbage is collected, in bytes. */
export interface Weight {
  /** Heap, and buffers beside it. */
  readonly held: number;
  readonly resident: number;
}

// Loaded into a server by `--import`, so that the server itself has no line of code for it. Each
// message is answered with the weight of the process.
if (isMainThread && process.send !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  process.on("message", () => {
    if (typeof collect === "function") collect();
    const { heapUsed, external, rss } = process.memoryUsage();
    process.send?.({ held: heapUsed + external, resident: rss } satisfies Weight);
  });
  // The channel alone must not keep a server alive that ends.
  process.channel?.unref();
}

import { setFlagsFromString, writeHeapSnapshot } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel, isMainThread } from "node:worker_threads";
import type { MemoryQuestion, MemoryReport, ThreadWeight } from "./memory-report.ts";

// Loaded into a server by `--import`, which Node repeats in each of its threads, so that the server
// itself has no line of code for it.

const CHANNEL = "fermata-bench-memory";

/** How long other threads have to answer. */
const THREADS_MS_MAX = 5_000;

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** What finalizers let go of is collected by the second time. */
function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function watchMain() {
  let threads = 0;
  process.on("worker", (worker) => {
    threads += 1;
    worker.once("exit", () => {
      threads -= 1;
    });
  });
  const channel = new BroadcastChannel(CHANNEL);
  const weigh = async (): Promise<MemoryReport> => {
    const others = weightsOf(channel, threads);
    channel.postMessage("weigh");
    const all = [...(await others), { thread: "main", heapBytes: heapBytes() }];
    const { external, rss } = process.memoryUsage();
    return { threads: all, externalBytes: external, residentBytes: rss };
  };
  process.on("message", (question: MemoryQuestion) => {
    if (question.act === "picture") process.send?.({ file: writeHeapSnapshot(question.file) });
    else void weigh().then((report) => process.send?.(report));
  });
  // The server is to end as it would without a probe.
  process.channel?.unref();
  channel.unref();
}

/** Waits for so many threads to report, for a limited time. */
function weightsOf(channel: BroadcastChannel, count: number): Promise<readonly ThreadWeight[]> {
  const weights: ThreadWeight[] = [];
  return new Promise((resolve) => {
    if (count === 0) return resolve(weights);
    const timer = setTimeout(() => resolve(weights), THREADS_MS_MAX);
    channel.onmessage = ({ data }) => {
      weights.push(data);
      if (weights.length < count) return;
      clearTimeout(timer);
      resolve(weights);
    };
  });
}

function watchThread() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    // The other threads' answers come here too.
    if (data === "weigh") channel.postMessage({ thread: "store", heapBytes: heapBytes() });
  };
  channel.unref();
}

if (isMainThread) watchMain();
else watchThread();

import { monitorEventLoopDelay } from "node:perf_hooks";

// Loaded into a server by `--import`, so that the server itself has no line of code for it. Each
// message from the bench is answered with the longest delay of the event loop since the last one.

const RESOLUTION_MS = 1;
const NS_PER_MS = 1e6;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on("message", () => {
  const longestMs = delay.count === 0 ? 0 : delay.max / NS_PER_MS;
  delay.reset();
  process.send?.(longestMs);
});
// The server is to end as it would without a probe.
process.channel?.unref();

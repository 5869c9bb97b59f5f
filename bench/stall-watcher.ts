import { Agent, get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

// The second client beside an attack, in a process of its own, so that what the attacker does in
// its process is not measured. It requests /health again and again, and reports the longest wait.

/** A port to begin with, null to end and to report. */
export interface WatchRequest {
  readonly port: number | null;
}

const PAUSE_MS = 5;

let isWatching = false;
let watching: Promise<number> = Promise.resolve(0);

async function watch(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let longestMs = 0;
  do {
    const startedMs = performance.now();
    await health(port, agent);
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    await pause(PAUSE_MS);
  } while (isWatching);
  agent.destroy();
  return longestMs;
}

function health(port: number, agent: Agent): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = get({ port, host: "127.0.0.1", path: "/health", agent }, (response) => {
    response.resume();
    if (response.statusCode === 200) response.on("end", resolve);
    else reject(new Error(`/health: ${response.statusCode}`));
  });
  asked.on("error", reject);
  return promise;
}

process.on("message", async ({ port }: WatchRequest) => {
  isWatching = port !== null;
  if (port !== null) watching = watch(port);
  process.send?.(port === null ? await watching : 0);
});

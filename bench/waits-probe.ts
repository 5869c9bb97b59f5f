import type { ServerUse } from "./waits.ts";

// In the server that is measured: answers each question of the bench with what it has used.

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  const use: ServerUse = { cpuMs: (user + system) / 1_000, bytes: process.memoryUsage().rss };
  process.send?.(use);
});
// The server is to end as it would without a probe.
process.channel?.unref();

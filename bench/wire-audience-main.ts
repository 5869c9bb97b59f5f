// The readers of an audience: they listen and wait as they are told, and tell what they heard.

import type { AudienceReport, AudienceRequest } from "./wire-audience.ts";
import { StreamReader } from "./wire-client.ts";

let readers: readonly StreamReader[] = [];

process.on("message", (request: AudienceRequest) => void obey(request));
process.on("disconnect", () => process.exit());

async function obey(request: AudienceRequest): Promise<void> {
  if (request.act === "listen") {
    readers = await Promise.all(request.paths.map((path) => StreamReader.open(request.port, path)));
  } else {
    // Readers that were cut are counted below; the bench does not wait for them.
    await Promise.allSettled(readers.map((reader, n) => reader.reached(request.lastIds[n] ?? 0)));
  }
  const cut = readers.filter(({ isOver }) => isOver).length;
  const report: AudienceReport = { cut, lagsMs: readers.flatMap(({ lagsMs }) => lagsMs) };
  for (const reader of readers) reader.lagsMs = [];
  process.send?.(report);
}

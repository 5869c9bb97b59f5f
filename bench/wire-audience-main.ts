// The readers of an audience: they listen and wait as they are told, and tell what they heard.

import type { AudienceOrder, AudienceReport } from "./wire-audience.ts";
import { Ear } from "./wire-client.ts";

let ears: readonly Ear[] = [];

process.on("message", (order: AudienceOrder) => void obey(order));
process.on("disconnect", () => process.exit());

async function obey(order: AudienceOrder): Promise<void> {
  if (order.act === "listen") {
    ears = await Promise.all(order.paths.map((path) => Ear.open(order.port, path)));
  } else {
    // Readers that were cut are counted below; the bench does not wait for them.
    await Promise.allSettled(ears.map((ear, n) => ear.reached(order.lastIds[n] ?? 0)));
  }
  const cut = ears.filter(({ isOver }) => isOver).length;
  const report: AudienceReport = { cut, lagsMs: ears.flatMap(({ lagsMs }) => lagsMs) };
  for (const ear of ears) ear.lagsMs = [];
  process.send?.(report);
}

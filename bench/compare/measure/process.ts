import { setTimeout as pause } from "node:timers/promises";
import type { MemoryReport } from "../../memory-report.ts";
import { Latencies } from "../../trial.ts";
import { firstHealth, freePort } from "../../wire-process.ts";
import { BenchClient, type OwnSession } from "../client.ts";
import type { Place } from "../contestant.ts";
import { type Findings, P50, rounded, timesOf } from "../measured.ts";
import type { CompareScale } from "../scale.ts";
import { withOwn } from "./own.ts";

export async function startRows(place: Place, scale: CompareScale): Promise<Findings> {
  const health = new Latencies("health");
  const first = new Latencies("first");
  for (let n = 0; n <= scale.starts; n += 1) {
    const { healthMs, firstMs } = await startOnce(place);
    if (n === 0) continue; // It makes the data of a run before, and fills the machine's caches.
    health.add(healthMs);
    first.add(firstMs);
  }
  return { health: timesOf(health, P50), first: timesOf(first, P50) };
}

/** A server may answer before it says that it is ready, so it is asked while it starts. */
async function startOnce(place: Place): Promise<{ healthMs: number; firstMs: number }> {
  const port = await freePort();
  const startedMs = performance.now();
  const sinceStart = () => performance.now() - startedMs;
  const client = new BenchClient({ host: "127.0.0.1", port, token: null });
  const asked = async () => {
    await firstHealth(port);
    const healthMs = sinceStart();
    await client.create();
    return { healthMs, firstMs: sinceStart() };
  };
  const [times, { end }] = await Promise.all([asked(), place.start({ agent: "usual", port })]);
  client.leave();
  await end();
  return times;
}

const PROBE = new URL("../../memory-probe.ts", import.meta.url);
const MB = 1e6;

/** An answer of about a thousand characters. */
const TURN = "chunks 10 100";

/** For what ends after an answer: commits, streams that were left. */
const QUIET_MS = 500;

export async function memoryRows(place: Place, scale: CompareScale): Promise<Findings> {
  const { warm, sessions, settleMs } = scale.weighed;
  const [boot] = await withOwn(place, { agent: "many" }, async (_, process) => {
    await process.health();
    await pause(settleMs);
    return [await process.memoryBytes()];
  });
  const weights = await withOwn(place, { agent: "many", probe: PROBE }, async (client, process) => {
    const weigh = async () => {
      await pause(QUIET_MS);
      return weightOf(await process.ask<MemoryReport>({ act: "weigh" }));
    };
    const create = async (count: number) => {
      const made: OwnSession[] = [];
      for (let n = 0; n < count; n += 1) made.push(await client.create());
      return made;
    };
    const speak = async (made: readonly OwnSession[]) => {
      for (const session of made) {
        const reader = await client.listen(session);
        await client.turn(session, reader, TURN);
        reader.leave();
      }
    };
    await speak(await create(warm));
    const before = await weigh();
    const made = await create(sessions);
    const idle = await weigh();
    await speak(made);
    const after = await weigh();
    return [idle, after].map(({ held, resident }) => ({
      held: held - before.held,
      resident: resident - before.resident,
    }));
  });
  const each = (bytes: number) => rounded(bytes / sessions / MB);
  return {
    boot: { figures: [rounded((boot ?? Number.NaN) / MB)], n: 1 },
    held: { figures: weights.map(({ held }) => each(held)), n: sessions },
    resident: { figures: weights.map(({ resident }) => each(resident)), n: sessions },
  };
}

/** What a process holds in the heaps of its threads and beside them, and what it has resident. */
function weightOf({ threads, externalBytes, residentBytes }: MemoryReport) {
  const heaps = threads.reduce((sum, { heapBytes }) => sum + heapBytes, 0);
  return { held: heaps + externalBytes, resident: residentBytes };
}

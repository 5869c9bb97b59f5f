import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { branchAlone } from "../branch-floor.ts";
import { relayAlone } from "../path-floor.ts";
import { Latencies } from "../trial.ts";
import { Audience } from "../wire-audience.ts";
import { FRAME_BYTES } from "../wire-bare.ts";
import { hangUp, post, StreamReader } from "../wire-client.ts";
import { type ServerProcess, startBare, startSmallest } from "../wire-process.ts";
import { CHUNK_BYTES, ratesOf } from "./measure/streams.ts";
import { type Findings, P50, P50_P99, rounded, timesOf } from "./measured.ts";
import type { GroupName } from "./rows.ts";
import type { CompareScale } from "./scale.ts";

const WARM_UPS = 20;
const BETWEEN_MS = 5;

/** A prompt's echo, a chunk and a verdict. */
const TURN_FRAMES = 2;

type MeasureFloor = (scale: CompareScale) => Promise<Findings>;

/** The least that a group's work can cost on this machine, where there is such a figure. */
const FLOORS: Partial<Record<GroupName, MeasureFloor>> = {
  create: (scale) => withBare((bare) => commits(bare, scale)),
  start: starts,
  prompt: (scale) => withBare((bare) => prompts(bare, scale)),
  turn: relayed,
  burst: (scale) => withBare((bare) => burst(bare, scale)),
  paced: (scale) => withBare((bare) => paced(bare, scale)),
  memory: boot,
  crowd: (scale) => withBare((bare) => crowd(bare, scale)),
  branch: branched,
};

/** What the floors are, for the report. */
export const FLOOR_ABOUT =
  "a bare node:http server that commits a row before it answers; for one turn the least relay " +
  "(bench/least-relay.ts), for a branch its rows in SQLite alone, for start and memory the " +
  "smallest server";

export async function floorOf(name: GroupName, scale: CompareScale): Promise<Findings> {
  return (await FLOORS[name]?.(scale)) ?? {};
}

async function withBare(act: (bare: ServerProcess) => Promise<Findings>): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), "fermata-bench-"));
  const bare = await startBare(folder);
  try {
    return await act(bare);
  } finally {
    hangUp();
    await bare.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

async function commits({ port }: ServerProcess, scale: CompareScale): Promise<Findings> {
  const times = new Latencies("commit");
  const ask = () => post(port, "/nobody?kept=1", { sessionScope: "thread" });
  for (let n = 0; n < WARM_UPS; n += 1) await ask();
  for (let n = 0; n < scale.creates; n += 1) await times.of(ask);
  const one = timesOf(times, P50);
  return { create: timesOf(times, P50_P99), attach: one, close: one };
}

async function starts(scale: CompareScale): Promise<Findings> {
  const times = new Latencies("start");
  for (let n = 0; n <= scale.starts; n += 1) {
    const startedMs = performance.now();
    const server = await startSmallest();
    await server.health();
    if (n > 0) times.add(performance.now() - startedMs);
    await server.end("SIGTERM");
  }
  return { health: timesOf(times, P50) };
}

async function prompts({ port }: ServerProcess, scale: CompareScale): Promise<Findings> {
  const event = new Latencies("event");
  const verdict = new Latencies("verdict");
  const reader = await StreamReader.open(port, "/turn");
  const path = `/turn?kept=1&frames=${TURN_FRAMES}&bytes=${FRAME_BYTES}`;
  for (let n = 0; n < scale.prompts; n += 1) {
    await pause(BETWEEN_MS);
    await Promise.all([
      event.of(() => reader.received("\nid: ")),
      verdict.of(() => reader.received("event: turn_complete")),
      post(port, path, { prompt: "x" }),
    ]);
  }
  reader.leave();
  return { event: timesOf(event, P50_P99), verdict: timesOf(verdict, P50) };
}

async function relayed({ chunks, turns }: CompareScale): Promise<Findings> {
  const line = `chunks ${chunks} ${CHUNK_BYTES}`;
  const floor = await relayAlone(line, { chunks, warmUps: turns, turns });
  return { turn: ratesOf(floor.turns, chunks) };
}

async function branched({ branched: { turns, branches } }: CompareScale): Promise<Findings> {
  const { figures, ...times } = timesOf(await branchAlone(turns, branches), P50);
  return { branch: { ...times, figures: figures.map((ms) => rounded(ms / 1_000)) } };
}

async function burst({ port }: ServerProcess, scale: CompareScale): Promise<Findings> {
  const { chunks, streams, bursts } = scale;
  const times = new Latencies("burst");
  await withReaders(port, streams, async (audience) => {
    for (let n = 0; n < 2 * bursts; n += 1) {
      const startedMs = performance.now();
      await toAll(port, audience, streams, `frames=${chunks}&bytes=${FRAME_BYTES}`);
      if (n >= bursts) times.add(performance.now() - startedMs);
    }
  });
  return { burst: ratesOf(times, chunks * streams) };
}

async function paced({ port }: ServerProcess, scale: CompareScale): Promise<Findings> {
  const { chunks, rate } = scale.paced;
  const lag = new Latencies("lag");
  const frames = (count: number) => `frames=${count}&bytes=${FRAME_BYTES}&rate=${rate}`;
  await withReaders(port, scale.streams, async (audience) => {
    await toAll(port, audience, scale.streams, frames(Math.min(chunks, rate)));
    const { lagsMs } = await toAll(port, audience, scale.streams, frames(chunks));
    for (const ms of lagsMs) lag.add(ms);
  });
  return { paced: timesOf(lag, P50_P99) };
}

async function withReaders(
  port: number,
  streams: number,
  act: (audience: Audience) => Promise<void>,
): Promise<void> {
  const audience = new Audience();
  try {
    await audience.listen(port, Array<string>(streams).fill("/turn"));
    await act(audience);
  } finally {
    await audience.leave();
  }
}

async function toAll(port: number, audience: Audience, streams: number, query: string) {
  const { body } = await post(port, `/turn?${query}`, { prompt: "x" });
  return audience.wait(Array<number>(streams).fill(Number(body.lastEventId)));
}

async function boot({ weighed }: CompareScale): Promise<Findings> {
  const server = await startSmallest();
  try {
    await server.health();
    await pause(weighed.settleMs);
    return { boot: { figures: [rounded((await server.memoryBytes()) / 1e6)], n: 1 } };
  } finally {
    await server.end("SIGTERM");
  }
}

async function crowd({ port }: ServerProcess, scale: CompareScale): Promise<Findings> {
  const verdict = new Latencies("verdict");
  const all = new Latencies("all");
  const readers: StreamReader[] = [];
  await all.of(async () => {
    for (let n = 0; n < scale.crowd; n += 1) {
      await post(port, "/nobody?kept=1", {});
      readers.push(await StreamReader.open(port, `/turn-${n}`));
    }
    const query = `kept=1&frames=${TURN_FRAMES}&bytes=${FRAME_BYTES}`;
    const turn = async (reader: StreamReader, n: number) => {
      const received = reader.received("event: turn_complete");
      await Promise.all([received, post(port, `/turn-${n}?${query}`, { prompt: "x" })]);
    };
    await Promise.all(readers.map((reader, n) => verdict.of(() => turn(reader, n))));
  });
  for (const reader of readers) reader.leave();
  const { figures, ...times } = timesOf(verdict, [0.99]);
  return { crowd: { ...times, figures: [...figures, ...all.quantiles([1]).map(rounded)] } };
}

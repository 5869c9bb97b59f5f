import { Latencies } from "../../trial.ts";
import { Audience } from "../../wire-audience.ts";
import type { StreamReader } from "../../wire-client.ts";
import type { BenchClient, OwnSession } from "../client.ts";
import { type Findings, P50_P99, rounded, timesOf } from "../measured.ts";
import type { CompareScale } from "../scale.ts";

const WARM_TURNS = 5;
export const CHUNK_BYTES = 100;

/** In a burst: reading the time of each would slow the readers. */
const STAMPED_EVERY = 50;

export async function turnRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const turn = new Latencies("turn");
  const session = await client.create();
  const reader = await client.listen(session);
  const line = `chunks ${scale.chunks} ${CHUNK_BYTES}`;
  const run = () => client.turn(session, reader, line);
  for (let n = 0; n < Math.min(WARM_TURNS, scale.turns); n += 1) await run();
  for (let n = 0; n < scale.turns; n += 1) await turn.of(run);
  return { turn: ratesOf(turn, scale.chunks) };
}

export async function burstRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const { chunks, streams, bursts } = scale;
  const line = `stamped ${chunks} ${CHUNK_BYTES} Infinity ${STAMPED_EVERY}`;
  const whole = new Latencies("whole");
  const lag = new Latencies("lag");
  await withAudience(client, streams, async (run) => {
    for (let n = 0; n < Math.min(WARM_TURNS, bursts); n += 1) await run(line);
    for (let n = 0; n < bursts; n += 1) {
      for (const ms of await whole.of(() => run(line))) lag.add(ms);
    }
  });
  return { burst: ratesOf(whole, chunks * streams), lag: timesOf(lag, [0.99]) };
}

export async function pacedRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const { chunks, rate } = scale.paced;
  const lag = new Latencies("lag");
  await withAudience(client, scale.streams, async (run) => {
    // A second of it first, in which the way is compiled.
    await run(`stamped ${Math.min(chunks, rate)} ${CHUNK_BYTES} ${rate}`);
    for (const ms of await run(`stamped ${chunks} ${CHUNK_BYTES} ${rate}`)) lag.add(ms);
  });
  return { paced: timesOf(lag, P50_P99) };
}

/** How many of them a second, from how long so many took. */
export function ratesOf(times: Latencies, count: number) {
  const [ms = Number.NaN] = times.quantiles([0.5]);
  return { ...timesOf(times, []), figures: [rounded((count * 1_000) / ms)] };
}

/** Runs turns of a session with so many streams; one of them is that of the client who prompts. */
async function withAudience(
  client: BenchClient,
  streams: number,
  act: (run: (line: string) => Promise<readonly number[]>) => Promise<void>,
): Promise<void> {
  const audience = new Audience();
  try {
    const session = await client.create();
    const reader = await client.listen(session);
    const paths = Array.from({ length: streams - 1 }, () => `/session/${session.sessionId}/events`);
    await audience.listen(client.address.port, paths, client.streamOptions(null));
    await act((line) => turnToAll({ client, session, reader, audience, streams }, line));
  } finally {
    await audience.leave();
  }
}

interface Stage {
  readonly client: BenchClient;
  readonly session: OwnSession;
  readonly reader: StreamReader;
  readonly audience: Audience;
  readonly streams: number;
}

/** Until all readers have all of it. Resolves with how late the stamped chunks were. */
async function turnToAll(stage: Stage, line: string): Promise<readonly number[]> {
  const { client, session, reader, audience, streams } = stage;
  await client.turn(session, reader, line);
  const { lagsMs } = await audience.wait(Array.from({ length: streams - 1 }, () => reader.lastId));
  return lagsMs;
}

import { Latencies } from "../../trial.ts";
import { BenchClient, type OwnSession } from "../client.ts";
import type { Place } from "../contestant.ts";
import { type Findings, P50, rounded, timesOf } from "../measured.ts";
import type { CompareScale } from "../scale.ts";
import { withOwn } from "./own.ts";

const WARM_LOADS = 3;

/** Prompts that wait or run: no server on this wire takes fewer by default. */
const IN_FLIGHT = 5;

/** What a person sees of a conversation of some length, who comes back to it. */
export async function loadRows(place: Place, scale: CompareScale): Promise<Findings> {
  const { turns, live, closed, restarts } = scale.loaded;
  const times = {
    live: new Latencies(""),
    closed: new Latencies(""),
    restarted: new Latencies(""),
  };
  let started = await place.start({ agent: "keeping" });
  let client = new BenchClient(started.address);
  try {
    const session = await client.create();
    await grown(client, session, turns, "chunks 8 100");
    for (let n = 0; n < Math.min(WARM_LOADS, live); n += 1) await client.load(session);
    for (let n = 0; n < live; n += 1) await times.live.of(() => client.load(session));
    for (let n = 0; n < closed; n += 1) {
      await client.close(session);
      await times.closed.of(() => client.load(session));
    }
    for (let n = 0; n < restarts && started.process !== null; n += 1) {
      client.leave();
      await started.end();
      started = await place.start({ agent: "keeping" });
      await started.process?.health();
      client = new BenchClient(started.address);
      await times.restarted.of(() => client.load(session));
    }
    if (started.process === null) await client.closeAll();
  } finally {
    client.leave();
    await started.end();
  }
  return {
    live: timesOf(times.live, P50),
    closed: timesOf(times.closed, P50),
    ...(times.restarted.count > 0 && { restarted: timesOf(times.restarted, P50) }),
  };
}

/** Two turns of the source are had, and the store repeats the last of them. */
const REAL_TURNS = 2;

export async function branchRows(place: Place, scale: CompareScale): Promise<Findings> {
  const { turns, branches } = scale.branched;
  const branch = new Latencies("branch");
  const session = await withOwn(place, { agent: "many" }, async (client) => {
    const made = await client.create();
    await grown(client, made, REAL_TURNS, "chunks 8 100");
    return made;
  });
  await place.addTurns?.(session.sessionId, turns - REAL_TURNS);
  await withOwn(place, { agent: "many" }, async (client) => {
    await client.load(session);
    for (let n = 0; n < branches; n += 1) await branch.of(() => client.branch(session));
  });
  const { figures, ...times } = timesOf(branch, P50);
  return { branch: { ...times, figures: figures.map((ms) => rounded(ms / 1_000)) } };
}

/** Has so many turns, as fast as the server takes them. */
async function grown(
  client: BenchClient,
  session: OwnSession,
  turns: number,
  line: string,
): Promise<void> {
  const reader = await client.listen(session, "event: turn_complete");
  for (let sent = 1; sent <= turns; sent += 1) {
    await client.prompt(session, line);
    await reader.counts(sent - IN_FLIGHT + 1);
  }
  await reader.counts(turns);
  reader.leave();
}

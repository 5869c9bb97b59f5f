import { setTimeout as pause } from "node:timers/promises";
import { Latencies } from "../../trial.ts";
import { Refused } from "../../wire-client.ts";
import type { BenchClient, OwnSession } from "../client.ts";
import { type Findings, P50, P50_P99, rounded, timesOf } from "../measured.ts";
import type { CompareScale } from "../scale.ts";

/** Before the first that counts: code is loaded and compiled. */
const WARM_UPS = 20;

/** Between two prompts, so that nothing of one turn is taken for the next. */
const BETWEEN_MS = 5;

export async function createRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const create = new Latencies("create");
  const attach = new Latencies("attach");
  const close = new Latencies("close");
  const warmUps = Math.min(WARM_UPS, scale.creates);
  const warm: OwnSession[] = [];
  for (let n = 0; n < warmUps; n += 1) warm.push(await client.create());
  for (const session of warm) await client.close(session);
  const made: OwnSession[] = [];
  for (let n = 0; n < scale.creates; n += 1) {
    try {
      made.push(await create.of(() => client.create()));
    } catch (error) {
      // A server may have a limit of its own: then these were all.
      if (!(error instanceof Refused && error.status === 503 && made.length > 0)) throw error;
      break;
    }
  }
  for (const session of made) await close.of(() => client.close(session));
  for (let n = 0; n < warmUps; n += 1) await client.attach();
  for (let n = 0; n < scale.attaches; n += 1) await attach.of(() => client.attach());
  return {
    create: timesOf(create, P50_P99),
    attach: timesOf(attach, P50),
    close: timesOf(close, P50),
  };
}

export async function promptRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const event = new Latencies("event");
  const words = new Latencies("words");
  const verdict = new Latencies("verdict");
  const session = await client.create();
  const reader = await client.listen(session);
  const prompt = () => client.turn(session, reader, "chunks 1 20");
  for (let n = 0; n < Math.min(WARM_UPS, scale.prompts); n += 1) await prompt();
  for (let n = 0; n < scale.prompts; n += 1) {
    await pause(BETWEEN_MS);
    await Promise.all([
      event.of(() => reader.received("\nid: ")),
      words.of(() => reader.received("agent_message_chunk")),
      verdict.of(prompt),
    ]);
  }
  return {
    event: timesOf(event, P50_P99),
    words: timesOf(words, P50_P99),
    verdict: timesOf(verdict, P50),
  };
}

/** As many people who create a session, and then all press Enter in the same moment. */
export async function crowdRows(client: BenchClient, scale: CompareScale): Promise<Findings> {
  const verdict = new Latencies("verdict");
  const all = new Latencies("all");
  await all.of(async () => {
    const people = await Promise.all(
      Array.from({ length: scale.crowd }, async () => {
        const session = await client.create();
        return { session, reader: await client.listen(session) };
      }),
    );
    await Promise.all(
      people.map(({ session, reader }) =>
        verdict.of(() => client.turn(session, reader, "chunks 1 20")),
      ),
    );
  });
  const { figures, ...times } = timesOf(verdict, [0.99]);
  return { crowd: { ...times, figures: [...figures, ...all.quantiles([1]).map(rounded)] } };
}

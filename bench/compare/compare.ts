import { FLOOR } from "./cells.ts";
import { BenchClient } from "./client.ts";
import { type Contestant, fermata, type Place, running, upstream } from "./contestant.ts";
import { writeDocs } from "./docs.ts";
import { FLOOR_ABOUT, floorOf } from "./floor.ts";
import { branchRows, loadRows } from "./measure/kept.ts";
import { memoryRows, startRows } from "./measure/process.ts";
import { createRows, crowdRows, promptRows } from "./measure/requests.ts";
import { burstRows, pacedRows, turnRows } from "./measure/streams.ts";
import type { Findings } from "./measured.ts";
import { type CompareOptions, readCompareOptions } from "./options.ts";
import { writeReport } from "./report.ts";
import {
  type Column,
  cellsOf,
  noResults,
  type Results,
  readResults,
  withCells,
  writeResults,
} from "./results.ts";
import { type GroupName, needs } from "./rows.ts";
import { COMPARE_FULL, type CompareScale } from "./scale.ts";
import { textTable } from "./table.ts";

/** Runs `npm run bench -- compare`, and resolves with what to print. */
export async function compare(args: readonly string[]): Promise<string> {
  const options = readCompareOptions(args);
  const before = options.json === null ? noResults() : readResults(options.json);
  const results = options.isShow ? before : await measured(options, before);
  if (options.isReport) writeReport(results);
  if (options.isDocs) writeDocs(results);
  return textTable(results);
}

async function measured(options: CompareOptions, before: Results): Promise<Results> {
  const contestants = contestantsOf(options);
  for (const contestant of contestants) await contestant.prepare();
  let results = before;
  for (const name of options.groups) {
    for await (const [column, cells] of measureGroup(name, contestants, COMPARE_FULL)) {
      results = withCells(results, column, cells);
      process.stderr.write(`${name}: ${column.name}\n`); // Progress goes beside the table.
      // At once, so that a run that is ended keeps what it has.
      if (options.json !== null) writeResults(options.json, results);
    }
  }
  return results;
}

function contestantsOf(options: CompareOptions): readonly Contestant[] {
  const { server } = COMPARE_FULL;
  return [
    ...(options.isFermata ? [fermata(server, { name: "Fermata", root: null })] : []),
    ...options.builds.map((build) => fermata(server, build)),
    ...(options.isUpstream ? [upstream()] : []),
    ...options.against.map(({ name, address }) => running(name, address)),
  ];
}

/** One after another: the floor and each server, so that they meet the machine in one state. */
export async function* measureGroup(
  name: GroupName,
  contestants: readonly Contestant[],
  scale: CompareScale,
) {
  const floor: Column = { name: FLOOR, about: FLOOR_ABOUT };
  yield [floor, cellsOf(name, FLOOR, await floorOf(name, scale))] as const;
  for (const contestant of contestants) {
    const column = { name: contestant.name, about: contestant.about };
    yield [
      column,
      cellsOf(name, contestant.name, await findingsOf(name, contestant, scale)),
    ] as const;
  }
}

type Measure = (place: Place, scale: CompareScale) => Promise<Findings>;

const MEASURES: Readonly<Record<GroupName, Measure>> = {
  create: withClient(createRows),
  start: startRows,
  prompt: withClient(promptRows),
  turn: withClient(turnRows),
  burst: withClient(burstRows),
  paced: withClient(pacedRows),
  load: loadRows,
  memory: memoryRows,
  crowd: withClient(crowdRows),
  branch: branchRows,
};

/** A server that does not answer must not hold the run. */
const GROUP_MS_MAX = 240_000;
const REASON_CHARS_MAX = 200;

async function findingsOf(
  name: GroupName,
  contestant: Contestant,
  scale: CompareScale,
): Promise<Findings | { readonly reason: string }> {
  const missing = contestant.lacks?.[name] ?? (await missingOf(name, contestant));
  if (missing !== null) return { reason: missing };
  const place = await contestant.open();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("it took too long")), GROUP_MS_MAX);
  try {
    return await Promise.race([MEASURES[name](place, scale), late]);
  } catch (error) {
    return { reason: String(error).replaceAll(/\s+/g, " ").slice(0, REASON_CHARS_MAX) };
  } finally {
    clearTimeout(timer);
    await place.close();
  }
}

/** What a group needs and a server that runs already does not have. */
async function missingOf(name: GroupName, contestant: Contestant): Promise<string | null> {
  if (contestant.isOwn) return null;
  if (needs(name, "process")) return "the bench cannot start it or look into it";
  if (!needs(name, "agent")) return null;
  const place = await contestant.open();
  const { address } = await place.start({ agent: "usual" });
  const isOurs = await speaksAsOurs(new BenchClient(address));
  return isOurs ? null : "its agent is not bench/path-agent.ts, or it does not answer";
}

/** Asks for two chunks of a kind that only the agent of the bench says. */
async function speaksAsOurs(client: BenchClient): Promise<boolean> {
  try {
    const session = await client.create();
    const reader = await client.listen(session, '"text":"xxxx"');
    await client.turn(session, reader, "chunks 2 4");
    await client.close(session);
    return reader.count === 2;
  } catch {
    return false;
  } finally {
    client.leave();
  }
}

/** A measure that needs no more than one server and a client of it. */
function withClient(
  rows: (client: BenchClient, scale: CompareScale) => Promise<Findings>,
): Measure {
  return async (place, scale) => {
    const { address, process, end } = await place.start({ agent: "usual" });
    const client = new BenchClient(address);
    try {
      const found = await rows(client, scale);
      if (process === null) await client.closeAll();
      return found;
    } finally {
      client.leave();
      await end();
    }
  };
}

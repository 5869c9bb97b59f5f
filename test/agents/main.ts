// Real public agents behind a real server: `npm run test:agents`. Needs the network once, for the
// packages; everything else happens on this machine.

import { parseArgs } from "node:util";
import type { Check } from "./checks/check.ts";
import { type Cell, CHECKS, Contract, PAIR_CHECKS } from "./contract.ts";
import { type Column, matrixOf, type PairColumn, pairMatrixOf, writeMatrix } from "./matrix.ts";
import { installed } from "./packages.ts";
import { type AgentRow, PAIRS, type PairRow, ROSTER } from "./roster.ts";
import type { Hosted } from "./world.ts";

const AT_A_TIME = 2;
/** With fewer of them the contract says nothing of agents in general. */
const USABLE_MIN = 6;

const ALL = [...CHECKS, ...PAIR_CHECKS];

const HELP = `npm run test:agents -- [AGENT…] [--pairs] [--check NAME…] [--write] [--list]

AGENT     ${ROSTER.map(({ name }) => name).join(" ")}; without any, all of them
--pairs   only the pairs of agents that delegate to each other, both of them named
--check   only this check; may be repeated
--write   write the matrices of docs/agents.md and docs/children.md, as a full run does by itself
--list    say what the checks are

FERMATA_AGENTS_CACHE names a folder for the packages that several clones can share.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "string", multiple: true, default: [] },
    pairs: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const running = new Set<Contract>();
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (!isStopping) void stop();
    isStopping = true;
  });
}
process.exitCode = await main();

/** Ends the run and leaves nothing of it behind. */
async function stop(): Promise<never> {
  await Promise.all([...running].map((contract) => contract.stop()));
  process.exit(1);
}

async function main(): Promise<number> {
  if (values.help) return print(HELP, 0);
  if (values.list) {
    return print(ALL.map(({ name, title }) => `${name.padEnd(16)} ${title}\n`).join(""), 0);
  }
  const known = new Set([...ROSTER.map(({ name }) => name), ...ALL.map(({ name }) => name)]);
  const unknown = [...positionals, ...values.check].filter((name) => !known.has(name));
  if (unknown.length > 0) return print(`unknown: ${unknown.join(" ")}\n\n${HELP}`, 2);
  const agents = ROSTER.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  const isFull = positionals.length === 0 && values.check.length === 0 && !values.pairs;
  const columns = values.pairs ? [] : await runAll(agents);
  const pairs = await runPairs(new Set(agents.map(({ name }) => name)));
  const cells = [...columns, ...pairs].flatMap(({ cells: own }) => [...(own?.values() ?? [])]);
  const passed = cells.filter(({ kind }) => kind === "pass").length;
  const missing = columns.filter((column) => column.cells === null).length;
  const isTooFew = isFull && columns.length - missing < USABLE_MIN;
  const failed = cells.filter(({ kind }) => kind === "fail").length + (isTooFew ? 1 : 0);
  if (isTooFew) print(`fewer than ${USABLE_MIN} agents could be installed\n`, 1);
  const matrices = [
    ...(columns.length === 0 ? [] : [["docs/agents.md", matrixOf(columns, CHECKS)] as const]),
    ...(pairs.length === 0 ? [] : [["docs/children.md", pairMatrixOf(pairs)] as const]),
  ];
  for (const [page, matrix] of matrices) {
    print(`\n${matrix}\n\n`, 0);
    if (isFull || values.write) writeMatrix(page, matrix);
  }
  return print(`${passed} passed, ${failed} failed\n`, failed === 0 ? 0 : 1);
}

/** In the order of the roster, however long each takes. */
async function runAll(agents: readonly AgentRow[]): Promise<readonly Column[]> {
  const columns = new Map<string, Column>();
  const waiting = [...agents];
  const work = async () => {
    for (let agent = waiting.shift(); agent !== undefined; agent = waiting.shift()) {
      columns.set(agent.name, await runOne(agent));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return agents.flatMap(({ name }) => columns.get(name) ?? []);
}

async function runOne(agent: AgentRow): Promise<Column> {
  const hosted = await hostedAs(agent);
  if (hosted === null) return { agent, cells: null };
  return { agent, cells: await runChecks(agent.name, new Contract([hosted], agent), CHECKS) };
}

/** One after the other: each pair is two agents at work. */
async function runPairs(names: ReadonlySet<string>): Promise<readonly PairColumn[]> {
  const columns: PairColumn[] = [];
  for (const pair of PAIRS) {
    if (names.has(pair.parent) && names.has(pair.child)) columns.push(await runPair(pair));
  }
  return columns;
}

async function runPair(pair: PairRow): Promise<PairColumn> {
  const [parent, child] = await Promise.all([pair.parent, pair.child].map(hostedNamed));
  if (!parent || !child) return { pair, cells: null };
  const contract = new Contract([parent, child], pair);
  return { pair, cells: await runChecks(`${pair.parent}+${pair.child}`, contract, PAIR_CHECKS) };
}

async function hostedNamed(name: string): Promise<Hosted | null> {
  const agent = ROSTER.find((row) => row.name === name);
  return agent === undefined ? null : hostedAs(agent);
}

/** Null where it cannot be installed. */
async function hostedAs(agent: AgentRow): Promise<Hosted | null> {
  try {
    return { agent, bin: await installed(agent.package) };
  } catch (thrown) {
    print(`${agent.name.padEnd(10)} cannot be installed: ${thrown}\n`, 0);
    return null;
  }
}

async function runChecks(
  name: string,
  contract: Contract,
  checks: readonly Check[],
): Promise<ReadonlyMap<string, Cell>> {
  running.add(contract);
  const startedMs = performance.now();
  const cells = new Map<string, Cell>();
  try {
    for (const check of checks) {
      if (values.check.length > 0 && !values.check.includes(check.name)) continue;
      const cell = await contract.try(check);
      cells.set(check.name, cell);
      tell(name, check.name, cell);
    }
  } finally {
    running.delete(contract);
    await contract.end();
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  print(`${name.padEnd(10)} ran for ${seconds} s\n`, 0);
  return cells;
}

function tell(agent: string, check: string, { kind, reason, seen, ms }: Cell): void {
  const sign = { pass: "✓", fail: "✗", none: "n/a" }[kind];
  const seconds = `${(ms / 1_000).toFixed(1)} s`;
  const words = kind === "fail" ? seen : reason;
  print(
    `${agent.padEnd(10)} ${sign.padEnd(3)} ${check.padEnd(16)} ${seconds.padEnd(7)} ${words}\n`,
    0,
  );
}

function print(text: string, exitCode: number): number {
  process.stdout.write(text);
  return exitCode;
}

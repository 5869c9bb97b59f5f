import { setTimeout as pause } from "node:timers/promises";
import { AGENT_SPAWN_MS_MAX, AGENT_SWEEP_MS_MAX, AGENT_SWEEP_PAUSE_MS } from "../../core/limits.ts";
import { startOf } from "../../platform/process-identity.ts";
import { type ProcessTable, processTable, type RunningProcess } from "./process-table.ts";

/** Identifies a process, also if its pid is used again. */
export interface KnownProcess {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * What is known of an agent's process and of all that it may have started; or of a part of that,
 * whose mark is the agent's with a suffix.
 */
export interface ProcessTree {
  readonly marker: string;
  /** The process itself, where it is known. It leads its own process group. */
  readonly leader: KnownProcess | null;
  /** Further processes that were seen to belong to it. */
  readonly seen: readonly KnownProcess[];
  /** The server died while starting it, so that it may still appear. */
  readonly mayStillStart: boolean;
  /** Everything that belongs to it started at this time or later. */
  readonly since: string;
}

/**
 * The living processes of a tree: those with its mark, the leader if its start time proves it, the
 * leader's group, and all that these have started. A process that cleared its environment, left
 * the group and lost its parent is not found: nothing proves that it belongs to the agent.
 */
export function membersOf(
  { marker, leader, seen }: ProcessTree,
  all: readonly RunningProcess[],
): readonly RunningProcess[] {
  const spared = ownAncestors(all);
  const own = new Map<number, RunningProcess>();
  const take = (running: RunningProcess) => {
    if (!spared.has(running.pid)) own.set(running.pid, running);
  };
  const known = new Set([...seen, ...(leader ? [leader] : [])].map(nameOf));
  for (const running of all) {
    if (isWithin(marker, running.marker) || known.has(nameOf(running))) take(running);
  }
  // While one of them is in the group, its number cannot belong to another group.
  if ([...own.values()].some(({ group }) => group === leader?.pid)) {
    for (const running of all) if (running.group === leader?.pid) take(running);
  }
  for (const parent of own.values()) {
    // Iteration over a map includes entries added meanwhile, so this reaches all descendants.
    for (const running of all) if (running.parent === parent.pid) take(running);
  }
  return [...own.values()];
}

/** The mark of a part of a tree. */
export function subMarker(marker: string, part: string): string {
  return `${marker}/${part}`;
}

function isWithin(marker: string, carried: string | null): boolean {
  return carried === marker || carried?.startsWith(subMarker(marker, "")) === true;
}

/** The members now; null if the system does not show its processes. */
export async function livingMembers(
  marked: ProcessTree,
): Promise<readonly RunningProcess[] | null> {
  const all = await look(marked.since, processTable());
  return all && membersOf(marked, all);
}

/** The same of several trees, by one look at all processes. */
export async function livingMembersOf(
  trees: readonly ProcessTree[],
): Promise<readonly (readonly RunningProcess[])[] | null> {
  const all = await look(earliestOf(trees), processTable());
  return all && trees.map((tree) => membersOf(tree, all));
}

function earliestOf(trees: readonly ProcessTree[]): string {
  return String(Math.min(...trees.map(({ since }) => Number(since) || 0)));
}

/** The server and its ancestors: a server that an agent started must not kill itself. */
function ownAncestors(all: readonly RunningProcess[]): ReadonlySet<number> {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  let pid: number | undefined = process.pid;
  while (pid !== undefined && !above.has(pid)) {
    above.add(pid);
    pid = parents.get(pid);
  }
  return above;
}

export interface KilledTrees {
  /** How many processes were killed. */
  readonly count: number;
  /** The trees of which nothing is left. The others could not be killed. */
  readonly cleared: readonly ProcessTree[];
}

/** Kills all members of these trees, repeatedly until none is left or time is up. */
export async function killTrees(
  marked: readonly ProcessTree[],
  spawnMs = AGENT_SPAWN_MS_MAX,
  table: Pick<ProcessTable, "list"> = processTable(),
): Promise<KilledTrees> {
  const since = earliestOf(marked);
  const begun = performance.now();
  const sweepMs = Math.max(AGENT_SWEEP_MS_MAX, spawnMs);
  const killed = new Set<string>();
  const started = new Set<ProcessTree>();
  let left = marked;
  let blank: ReadonlySet<number> = new Set();
  for (let age = 0; left.length > 0 && age < sweepMs; ) {
    const all = await look(since, table);
    age = performance.now() - begun;
    const wasBlank = blank;
    blank = new Set(all?.flatMap(({ isBlank, pid }) => (isBlank ? [pid] : [])));
    const isSeen = all?.every(({ isHidden }) => !isHidden) ?? false;
    const isSure = isSeen && [...blank].every((pid) => wasBlank.has(pid));
    left = left.filter((one) => {
      const found = membersOf(one, all ?? []);
      for (const running of found) if (kill(running)) killed.add(nameOf(running));
      if (found.length > 0) started.add(one);
      const mayStart = one.mayStillStart && !started.has(one) && age < spawnMs;
      return found.length > 0 || mayStart || !isSure;
    });
    if (left.length > 0) await pause(AGENT_SWEEP_PAUSE_MS);
  }
  return { count: killed.size, cleared: marked.filter((one) => !left.includes(one)) };
}

/** Null if the system does not show its processes, as with too many open files. */
async function look(
  since: string,
  table: Pick<ProcessTable, "list">,
): Promise<readonly RunningProcess[] | null> {
  try {
    return await table.list(since);
  } catch {
    return null;
  }
}

/** Checks the start time again: since the listing the pid may have got another process. */
function kill({ pid, startedAt }: RunningProcess): boolean {
  const started = startOf(pid);
  if (started === null || (started !== "" && started !== startedAt)) return false;
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // It has ended, or the server may not kill it; the next listing tells.
  }
}

function nameOf({ pid, startedAt }: KnownProcess): string {
  return `${pid} ${startedAt}`;
}

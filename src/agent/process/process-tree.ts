import { setTimeout as pause } from "node:timers/promises";
import { AGENT_SPAWN_MS_MAX, AGENT_SWEEP_MS_MAX, AGENT_SWEEP_PAUSE_MS } from "../../core/limits.ts";
import { startOf } from "../../platform/process-identity.ts";
import { processTable, type RunningProcess } from "./process-table.ts";

/** Enough to know a process again, and never to take another for it. */
export interface KnownProcess {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * What is known of an agent's process and of all that it may have started; or of a part of that,
 * which carries the agent's mark with a name of its own behind it.
 */
export interface Marked {
  readonly marker: string;
  /** The process itself, where it is known. It leads a group of its own. */
  readonly leader: KnownProcess | null;
  /** Others that were seen to belong to it. */
  readonly seen: readonly KnownProcess[];
  /** Whether somebody died while starting it, so that it may still come to be. */
  readonly mayStillStart: boolean;
  /** Everything that belongs to it started at this time or later. */
  readonly since: string;
}

/**
 * The living processes that belong to an agent: who carries its mark, the one that was written
 * down if its start proves it, that one's group, and whatever these have started. A process that
 * threw its environment away, left the group and lost its parent cannot be found, nor should it:
 * nothing about it proves anything.
 */
export function belongingTo(
  { marker, leader, seen }: Marked,
  all: readonly RunningProcess[],
): readonly RunningProcess[] {
  const spared = aboveUs(all);
  const own = new Map<number, RunningProcess>();
  const take = (running: RunningProcess) => {
    if (!spared.has(running.pid)) own.set(running.pid, running);
  };
  const known = new Set([...seen, ...(leader ? [leader] : [])].map(nameOf));
  for (const running of all) {
    if (isWithin(marker, running.marker) || known.has(nameOf(running))) take(running);
  }
  // While one of them is in it, the group's number cannot have been given to another.
  if ([...own.values()].some(({ group }) => group === leader?.pid)) {
    for (const running of all) if (running.group === leader?.pid) take(running);
  }
  for (const parent of own.values()) {
    // A map shows what is added while it is walked, so this reaches all generations.
    for (const running of all) if (running.parent === parent.pid) take(running);
  }
  return [...own.values()];
}

/** The mark of a part of what this one marks. */
export function markOfPart(marker: string, part: string): string {
  return `${marker}/${part}`;
}

function isWithin(marker: string, carried: string | null): boolean {
  return carried === marker || carried?.startsWith(markOfPart(marker, "")) === true;
}

/** The same as they are now; null if the system would not show its processes. */
export async function familyOf(marked: Marked): Promise<readonly RunningProcess[] | null> {
  const all = await look(marked.since);
  return all && belongingTo(marked, all);
}

/** We and those above us: a server that an agent started does not end itself. */
function aboveUs(all: readonly RunningProcess[]): ReadonlySet<number> {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  let pid: number | undefined = process.pid;
  while (pid !== undefined && !above.has(pid)) {
    above.add(pid);
    pid = parents.get(pid);
  }
  return above;
}

export interface Ended {
  /** How many processes were killed. */
  readonly count: number;
  /** Those of which nothing is left. Others are too stubborn, or not for us to kill. */
  readonly cleared: readonly Marked[];
}

/** Kills all that belongs to these, again and again until nothing is left or time is up. */
export async function endMarked(
  marked: readonly Marked[],
  spawnMs = AGENT_SPAWN_MS_MAX,
): Promise<Ended> {
  const since = String(Math.min(...marked.map((one) => Number(one.since) || 0)));
  const begun = performance.now();
  const sweepMs = Math.max(AGENT_SWEEP_MS_MAX, spawnMs);
  const killed = new Set<string>();
  const started = new Set<Marked>();
  let left = marked;
  let blank: ReadonlySet<number> = new Set();
  for (let age = 0; left.length > 0 && age < sweepMs; ) {
    const all = await look(since);
    age = performance.now() - begun;
    const wasBlank = blank;
    blank = new Set(all?.flatMap(({ isBlank, pid }) => (isBlank ? [pid] : [])));
    const isSure = all !== null && [...blank].every((pid) => wasBlank.has(pid));
    left = left.filter((one) => {
      const found = belongingTo(one, all ?? []);
      for (const running of found) if (kill(running)) killed.add(nameOf(running));
      if (found.length > 0) started.add(one);
      const mayStart = one.mayStillStart && !started.has(one) && age < spawnMs;
      return found.length > 0 || mayStart || !isSure;
    });
    if (left.length > 0) await pause(AGENT_SWEEP_PAUSE_MS);
  }
  return { count: killed.size, cleared: marked.filter((one) => !left.includes(one)) };
}

/** Null if the system would not show its processes, as when we have too many files open. */
async function look(since: string): Promise<readonly RunningProcess[] | null> {
  try {
    return await processTable().list(since);
  } catch {
    return null;
  }
}

/** Asked once more right before: between a look and a blow a pid may change hands. */
function kill({ pid, startedAt }: RunningProcess): boolean {
  const started = startOf(pid);
  if (started === null || (started !== "" && started !== startedAt)) return false;
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // It is gone, or not ours to kill; the next look tells.
  }
}

function nameOf({ pid, startedAt }: KnownProcess): string {
  return `${pid} ${startedAt}`;
}

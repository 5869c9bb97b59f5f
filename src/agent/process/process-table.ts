import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { AGENT_SWEEP_BATCH_MAX, AGENT_SWEEP_MS_MAX } from "../../core/limits.ts";
import { readStat, startOf } from "../../platform/process-identity.ts";
import { causeOf } from "../system-error.ts";
import { AGENT_MARK_VARIABLE } from "./environment.ts";
import { type ReadMark, readHiddenMarks } from "./mark-readers.ts";

/** A process as the system shows it. */
export interface RunningProcess extends ReadMark {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In the system's own format; only for comparison. */
  readonly startedAt: string;
}

export interface ProcessTable {
  /**
   * All living processes that the server may see. It reads no mark of those that started before
   * `since`: what an agent starts is younger than the agent.
   */
  list(since: string): Promise<readonly RunningProcess[]>;
  /** When a process started; null if there is none, or the system does not say. */
  startOf(pid: number): Promise<string | null>;
}

export function processTable(): ProcessTable {
  return process.platform === "linux" ? LINUX : PS;
}

const LINUX: ProcessTable = {
  async list(since) {
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const found: RunningProcess[] = [];
    const hidden = new Map<number, number>();
    for (const [index, name] of pids.entries()) {
      const running = ofLinux(Number(name), Number(since), hidden);
      if (running !== null) found.push(running);
      if (index % AGENT_SWEEP_BATCH_MAX === AGENT_SWEEP_BATCH_MAX - 1) await nextTurn();
    }
    if (hidden.size === 0) return found;
    const marks = await readHiddenMarks(hidden);
    return found.map((running) => ({ ...running, ...marks.get(running.pid) }));
  },
  startOf: async (pid) => startOf(pid) || null,
};

/** Adds the process to `hidden`, with its user, if the server may not read its environment. */
function ofLinux(pid: number, since: number, hidden: Map<number, number>): RunningProcess | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const { isDead, parent, group, startedAt } = readStat(stat);
  if (isDead) return null;
  const isOlder = Number(startedAt) < since;
  const mark = isOlder ? NO_MARK : linuxMarkOf(pid);
  if (mark === null) {
    const uid = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid;
    if (uid !== undefined) hidden.set(pid, uid);
  }
  return { pid, parent, group, startedAt, ...(mark ?? NO_MARK) };
}

const NO_MARK: ReadMark = { marker: null, isBlank: false, isHidden: false };

/** Null if this process may not read it, which does not change later, or if it has ended. */
export function linuxMarkOf(pid: number): ReadMark | null {
  const environment = readOrNull(`/proc/${pid}/environ`);
  if (environment === null) return null;
  const marker = markerIn(environment, "\0");
  return { marker, isBlank: environment === "", isHidden: false };
}

/**
 * Null if the process has ended, or the server may not read it. Any other failure is thrown, so
 * that no process counts as ended because it could not be read.
 */
function readOrNull(path: string): string | null {
  try {
    // What is no text becomes replacement characters, which no mark has. As bytes it would be read
    // through 64 KiB of memory for each process.
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (/^(?:ENOENT|ESRCH|EACCES|EPERM)$/.test(causeOf(thrown))) return null;
    throw thrown;
  }
}

/**
 * Elsewhere there is only `ps`, which prints the environment behind the command, and only of
 * processes that the server may inspect.
 */
export const PS: ProcessTable = {
  async list() {
    const { stdout } = await run("ps", [...PS_EVERYTHING, "-o", PS_COLUMNS], PS_OPTIONS);
    return stdout.split("\n").flatMap((line) => ofPs(line) ?? []);
  },
  async startOf(pid) {
    try {
      const { stdout } = await run("ps", ["-o", PS_COLUMNS, "-p", String(pid)], PS_OPTIONS);
      return ofPs(stdout.split("\n")[0] ?? "")?.startedAt ?? null;
    } catch {
      return null; // `ps` fails if there is none.
    }
  },
};

const run = promisify(execFile);
const PS_EVERYTHING = process.platform === "darwin" ? ["-AEww"] : ["axeww"];
const PS_COLUMNS = "pid=,ppid=,pgid=,stat=,lstart=,command=";
const PS_BYTES_MAX = 64 * 1_024 * 1_024;
const PS_OPTIONS = {
  env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
  maxBuffer: PS_BYTES_MAX,
  timeout: AGENT_SWEEP_MS_MAX,
};

/** The start is printed as `Tue Mar  3 04:05:06 2026`. */
const PS_LINE = /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\w+ +\w+ +\d+ [\d:]+ +\d+) (.*)$/;

function ofPs(line: string): RunningProcess | null {
  const [whole, pid, parent, group, state = "", startedAt = "", command = ""] =
    PS_LINE.exec(line) ?? [];
  if (whole === undefined || state.startsWith("Z")) return null;
  const ids = { pid: Number(pid), parent: Number(parent), group: Number(group) };
  return { ...ids, startedAt, ...NO_MARK, marker: markerIn(command, " ") };
}

function markerIn(environment: string, separator: string): string | null {
  const begin = `${separator}${AGENT_MARK_VARIABLE}=`;
  const [, after] = `${separator}${environment}`.split(begin, 2);
  return after?.split(separator, 1)[0] ?? null;
}

/**
 * The resident memory of these processes together. Shared pages count for each of them, so the
 * sum is an upper bound. Null where the system does not say.
 */
export async function residentBytes(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const each = await Promise.all(pids.map(residentOf));
  return each.reduce((sum, bytes) => sum + bytes, 0);
}

async function residentOf(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0; // It has ended meanwhile.
  }
}

/**
 * The processor time of these processes and of their ended children, in milliseconds. Null where
 * the system does not say.
 */
export async function processorMs(pids: readonly number[]): Promise<number | null> {
  if (process.platform !== "linux") return null;
  const each = await Promise.all(pids.map(ticksOf));
  return each.reduce((sum, ticks) => sum + ticks, 0) * MS_PER_TICK;
}

/** Linux reports it in hundredths of a second. */
const MS_PER_TICK = 10;

/** The positions of `utime`, `stime`, `cutime` and `cstime`, counted from the state. */
const FIRST_TIME = 11;
const TIMES = 4;

async function ticksOf(pid: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const times = fields.slice(FIRST_TIME, FIRST_TIME + TIMES).map(Number);
    return times.reduce((sum, ticks) => sum + ticks, 0);
  } catch {
    return 0; // It has ended meanwhile.
  }
}

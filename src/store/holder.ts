import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A process that owns sessions: named so that a person can find it, and a machine can check it. */
export interface Holder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** When the process started, by the system's own count: a reused pid has another. */
  readonly startedAt: string;
  /** Tells owners within one process apart. */
  readonly label: string;
}

export function thisHolder(label: string): Holder {
  const { pid } = process;
  return { host: hostname(), bootId: bootId(), pid, startedAt: startOf(pid) ?? "", label };
}

/**
 * Whether a holder is provably gone. On another machine nothing can be proved, so it is not; on
 * this one it is gone after a reboot, or if no process has its pid and its start. Where the system
 * does not tell a start, as on macOS or of processes that it hides, a living pid is proof enough.
 */
export function isGone(holder: Holder): boolean {
  if (holder.host !== hostname()) return false;
  if (holder.bootId !== bootId()) return true;
  const started = startOf(holder.pid);
  return started === null || (started !== "" && started !== holder.startedAt);
}

export function isThisProcess({ host, pid, startedAt }: Holder): boolean {
  return host === hostname() && pid === process.pid && startedAt === startOf(pid);
}

export function describeHolder({ label, pid, host }: Holder): string {
  return `${label} (process ${pid} on ${host})`;
}

/** Linux says which boot this is; elsewhere the start of a process has to do alone. */
function bootId(): string {
  return readOr("/proc/sys/kernel/random/boot_id", "").trim();
}

/**
 * Null if there is no such process. What Linux tells of it is counted after its name: first its
 * state, then, 17 on, its threads, and 19 on, its start. One that is dead but not yet buried by
 * its parent counts as gone, once none of its threads is at work any more.
 */
function startOf(pid: number): string | null {
  const stat = readOr(`/proc/${pid}/stat`, "");
  if (stat === "") return isAlive(pid) ? "" : null;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isDead = /^[ZX]$/.test(fields[0] ?? "") && Number(fields[17]) <= 1;
  return isDead ? null : (fields[19] ?? "");
}

/** Signal 0 only asks; a process that may not be signalled is there all the same. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown && thrown.code === "EPERM";
  }
}

function readOr(path: string, missing: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return missing;
  }
}

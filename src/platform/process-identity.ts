import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies one process exactly: no later process can be taken for it. */
export interface ProcessIdentity {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  /** When the process started, by the system's own count: a reused pid has another start. */
  readonly startedAt: string;
}

export function thisProcess(): ProcessIdentity {
  const { pid } = process;
  return { host: hostname(), bootId: bootId(), pid, startedAt: startOf(pid) ?? "" };
}

/**
 * Whether a process is provably gone. On another machine nothing can be proved, so it is not. On
 * this one it is gone after a reboot, or if no process has its pid and its start. Where the system
 * does not tell the start (macOS, hidden processes), a living pid counts as the process.
 */
export function isGone(identity: ProcessIdentity): boolean {
  if (identity.host !== hostname()) return false;
  if (isOfEarlierBoot(identity)) return true;
  const started = startOf(identity.pid);
  return started === null || (started !== "" && started !== identity.startedAt);
}

/** Whether a process provably runs on this machine: only then may it be signalled or trusted. */
export function isProvablyHere(identity: ProcessIdentity): boolean {
  const { host, pid, startedAt } = identity;
  if (host !== hostname() || isOfEarlierBoot(identity)) return false;
  return startedAt !== "" && startOf(pid) === startedAt;
}

export function isThisProcess({ host, pid, startedAt }: ProcessIdentity): boolean {
  return host === hostname() && pid === process.pid && startedAt === startOfThis();
}

/** A store asks at each of its sessions, and it never changes. */
function startOfThis(): string | null {
  ownStart ??= startOf(process.pid);
  return ownStart;
}

let ownStart: string | null = null;

/** No process outlives a boot, so pids and starts of an earlier boot mean nothing now. */
export function isOfEarlierBoot(identity: ProcessIdentity): boolean {
  return identity.host === hostname() && identity.bootId !== bootId();
}

/** Linux identifies the boot; elsewhere only the start of a process tells. */
function bootId(): string {
  return readOr("/proc/sys/kernel/random/boot_id", "").trim();
}

/**
 * Null if there is no such process, empty if the system does not tell its start. A zombie, dead
 * but not yet reaped by its parent, counts as gone once none of its threads runs any more.
 */
export function startOf(pid: number): string | null {
  const stat = readOr(`/proc/${pid}/stat`, "");
  if (stat === "") return isAlive(pid) ? "" : null;
  const { isDead, startedAt } = readStat(stat);
  return isDead ? null : startedAt;
}

interface ProcessStat {
  readonly isDead: boolean;
  readonly parent: number;
  readonly group: number;
  readonly startedAt: string;
}

/** Fields of `/proc/PID/stat` count from behind the name, which may have any characters. */
export function readStat(stat: string): ProcessStat {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "", group = ""] = fields;
  const isDead = /^[ZX]$/.test(state) && Number(fields[17]) <= 1;
  return { isDead, parent: Number(parent), group: Number(group), startedAt: fields[19] ?? "" };
}

/** Signal 0 only checks; a process that may not be signalled is there all the same. */
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

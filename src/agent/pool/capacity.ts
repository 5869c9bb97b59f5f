import type { UserId } from "../../core/id.ts";
import {
  AGENT_PACE_SEATS_MIN,
  AGENT_PROCESS_ASSUMED_BYTES,
  AGENT_PROCESSES_RESERVED_MAX,
  AGENT_SPARE_SEATS_MIN,
  AGENT_SPARES_AHEAD_MAX,
  SHARE_KEPT_DIVISOR_MIN,
} from "../../core/limits.ts";
import { shareExceeded } from "../../core/share.ts";
import { type PoolKey, type PoolMember, type StartingProcess, seatsIn } from "./members.ts";

export interface CapacityLimits {
  readonly processesMax: number;
  /** The limit of all agents together; null for none. */
  readonly memoryBytesMax: number | null;
}

/** All processes that count. */
interface PoolUse {
  readonly members: ReadonlySet<PoolMember>;
  readonly starting: ReadonlySet<StartingProcess>;
  readonly endingCount: number;
}

/** Whose share of the processes is used up. */
type PoolScope = "server" | "tenant" | "user";

/** Why there is no capacity for one more process. */
export interface FullPool {
  readonly scope: PoolScope;
  readonly reason: string;
}

/**
 * Whether one more process may start, by count and by memory; null if it may. Users have shares,
 * and none of them is told of another's agents (P8). The operator has none, and a reserve.
 */
export function fullPool(key: PoolKey, limits: CapacityLimits, use: PoolUse): FullPool | null {
  return fullCount(key, limits, use) ?? fullMemory(key, limits, use);
}

function fullCount(key: PoolKey, { processesMax }: CapacityLimits, use: PoolUse): FullPool | null {
  const processes = counted(use);
  const free = processesMax - processes.length - use.endingCount;
  if (key.userId === null) {
    const reason = `${processesMax} are running already (--max-agents)`;
    return free <= 0 ? { scope: "server", reason } : null;
  }
  const held = heldBy(key, key.userId, processes);
  const reserved = Math.min(AGENT_PROCESSES_RESERVED_MAX, Math.floor(processesMax / 8));
  const kept = Math.floor(processesMax / SHARE_KEPT_DIVISOR_MIN);
  const own = { ofTenant: held.tenant.length, ofUser: held.user.length };
  return described(excessOf({ amount: 1, free: free - reserved, kept, ...own }));
}

/** Starting processes, and the next one, count as the average of the measured ones. */
function fullMemory(
  key: PoolKey,
  { memoryBytesMax }: CapacityLimits,
  use: PoolUse,
): FullPool | null {
  const processes = counted(use);
  // One process may always start.
  if (memoryBytesMax === null || processes.length === 0) return null;
  const measured = processes.filter(({ bytes }) => bytes > 0);
  const sum = measured.reduce((total, { bytes }) => total + bytes, 0);
  const each = measured.length === 0 ? AGENT_PROCESS_ASSUMED_BYTES : sum / measured.length;
  const bytesOf = (some: readonly CountedProcess[]) => {
    return some.reduce((total, { bytes }) => total + (bytes || each), 0);
  };
  const free = memoryBytesMax - bytesOf(processes);
  if (key.userId === null) {
    const reason = `they would take more than ${memoryBytesMax} bytes of memory`;
    return free < each ? { scope: "server", reason } : null;
  }
  const held = heldBy(key, key.userId, processes);
  const kept = memoryBytesMax / SHARE_KEPT_DIVISOR_MIN;
  const own = { ofTenant: bytesOf(held.tenant), ofUser: bytesOf(held.user) };
  return described(excessOf({ amount: each, free, kept, ...own }));
}

interface PoolShare {
  readonly amount: number;
  readonly free: number;
  /** What of that is for the first process of a tenant. */
  readonly kept: number;
  readonly ofTenant: number;
  readonly ofUser: number;
}

function excessOf({ amount, free, kept, ofTenant, ofUser }: PoolShare): PoolScope | null {
  return shareExceeded({
    amount,
    free,
    open: free - kept,
    little: amount,
    ceiling: { kind: "times_free" },
    holders: [
      { scope: "tenant", held: ofTenant },
      { scope: "user", held: ofUser },
    ],
  });
}

interface CountedProcess {
  readonly key: PoolKey;
  readonly bytes: number;
}

function counted({ members, starting }: PoolUse): readonly CountedProcess[] {
  const arriving = [...starting].filter(({ hasCapacity }) => hasCapacity);
  return [...members, ...arriving.map(({ key }) => ({ key, bytes: 0 }))];
}

/** A process counts for the user whom it was started for, though others may share it. */
function heldBy({ tenantId }: PoolKey, userId: UserId, processes: readonly CountedProcess[]) {
  const tenant = processes.filter(({ key }) => key.tenantId === tenantId);
  return { tenant, user: tenant.filter(({ key }) => key.userId === userId) };
}

const REASONS: Readonly<Record<PoolScope, string>> = {
  server: "the server has no capacity left; wait for an agent to end",
  tenant: "this tenant has its share of the server's agents; close one of its sessions, or wait",
  user: "this user has their share of the tenant's agents; close one of their sessions, or wait",
};

function described(scope: PoolScope | null): FullPool | null {
  return scope === null ? null : { scope, reason: REASONS[scope] };
}

/** Whether the end of a process would help one that is refused for this. */
export function helps(scope: PoolScope, wanted: PoolKey, { key }: Pick<CountedProcess, "key">) {
  if (scope === "server") return true;
  const isOfTenant = key.tenantId === wanted.tenantId;
  return isOfTenant && (scope === "tenant" || key.userId === wanted.userId);
}

/**
 * Whether the next process of this key has to start now, so that no session waits for it: fewer
 * seats are left than sessions come while a process starts, or fewer than a share of them. One of
 * few sessions never has a spare.
 */
export function wantsSpare(
  key: PoolKey,
  all: Iterable<PoolMember>,
  starting: Iterable<StartingProcess>,
  nowMs: number,
): boolean {
  const { sessionsPerProcess } = key.profile.limits;
  if (sessionsPerProcess < AGENT_SPARE_SEATS_MIN) return false;
  const members = [...all].filter((member) => member.key.name === key.name);
  const seats = [
    ...members.map((member) => member.seatsFor(key)),
    ...[...starting].map((one) => seatsIn(one, key)),
  ];
  const left = seats.reduce((sum, count) => sum + count, 0);
  const pace = Math.max(0, ...members.map((member) => seatsPerStart(member, nowMs)));
  const ahead = Math.min(pace, sessionsPerProcess * AGENT_SPARES_AHEAD_MAX);
  return left < ahead || left <= sessionsPerProcess / AGENT_SPARE_SEATS_MIN;
}

/** How many sessions come in the time of a start, going by those of this process. */
function seatsPerStart({ startMs, firstSeatMs, seatsTaken }: PoolMember, nowMs: number): number {
  if (seatsTaken < AGENT_PACE_SEATS_MIN) return 0;
  return (startMs * seatsTaken) / Math.max(1, nowMs - firstSeatMs);
}

import type { TenantId, UserId } from "../../core/id.ts";
import { AGENT_LOGS_KEPT_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { OwnAgentCalls } from "../agent.ts";
import type { AgentHost } from "../bridge/host.ts";
import type { AgentCredentials } from "../credential/credentials.ts";
import type {
  AgentKeeper,
  AgentLog,
  AgentProcessView,
  AgentRestart,
  FailingAgent,
  TraceReader,
  Traces,
  WireTap,
} from "../keeper.ts";
import type { AgentProfile } from "../profile/profile.ts";

/** Sessions with an equal key may share a process. Tenants never do. */
export interface PoolKey {
  /** The key as text, without the content of the profile, which may change. */
  readonly name: string;
  readonly tenantId: TenantId;
  /** The user it was asked for, who is no part of the name; null is the operator. */
  readonly userId: UserId | null;
  readonly profile: AgentProfile;
  readonly workspace: string;
  /** Users with other keys or homes have another name of the key. */
  readonly credentials: AgentCredentials;
}

/** A process that is starting, and the sessions that wait for it. */
export interface StartingProcess {
  readonly key: PoolKey;
  readonly abort: AbortController;
  /** Takes its lines, and has the process's number. */
  readonly tap: WireTap;
  readonly begunMs: number;
  /** Never rejects. */
  readonly done: Promise<Result<PoolMember>>;
  /** The process, once it has started. */
  member: PoolMember | null;
  /** How many sessions wait for it. */
  seats: number;
  /** It counts against the limits of the pool. */
  hasCapacity: boolean;
  /** What it was started for: as a spare it is there before a session needs it. */
  readonly purpose: "session" | "preheat" | "spare";
}

/** It counts against the limits, and no session waits for it. */
export function isUnwanted({ hasCapacity, seats, purpose }: StartingProcess): boolean {
  return hasCapacity && seats === 0 && purpose !== "preheat";
}

/** How many more sessions of this key may wait for it. */
export function seatsIn({ key: its, seats, abort }: StartingProcess, key: PoolKey): number {
  const isSame = its.name === key.name && its.profile === key.profile;
  return isSame && !abort.signal.aborted ? key.profile.limits.sessionsPerProcess - seats : 0;
}

export async function stopped({ abort, done }: StartingProcess): Promise<void> {
  abort.abort();
  await done;
}

/** One process of the pool. */
export class PoolMember {
  readonly key: PoolKey;
  readonly process: number;
  readonly host: AgentHost;
  readonly startedMs: number;
  /** How long it took to start. */
  readonly startMs: number;
  /** When its first session came, and how many have come since; some may have left. */
  firstSeatMs: number;
  seatsTaken: number;
  /** Sessions that have a seat and are not counted by the host yet. */
  arriving: number;
  /** It did not answer when it was to make a session. */
  isHung = false;
  /** The memory of the process and its children, when it was last measured. */
  bytes = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor({ key, tap, seats, begunMs }: StartingProcess, host: AgentHost, startedMs: number) {
    this.key = key;
    this.process = tap.process;
    this.host = host;
    this.startedMs = startedMs;
    this.startMs = startedMs - begunMs;
    this.firstSeatMs = startedMs;
    this.seatsTaken = seats;
    this.arriving = seats;
  }

  get sessionCount(): number {
    return this.host.sessionCount + this.arriving;
  }

  /** A person who signs in needs the process that has shown the page. */
  get isUnused(): boolean {
    return this.sessionCount === 0 && !this.host.awaitsSignIn;
  }

  /** A process that has grown too large, or is retired, keeps its sessions and gets no others. */
  get isUsable(): boolean {
    return this.host.isOpen && this.bytes < this.host.profile.limits.memoryBytes;
  }

  takeSeat(nowMs: number) {
    if (this.seatsTaken === 0) this.firstSeatMs = nowMs;
    this.seatsTaken += 1;
    this.arriving += 1;
    this.stopIdleTimer();
  }

  /** How many more sessions of this key it takes. */
  seatsFor(key: PoolKey): number {
    const { sessionsPerProcess } = key.profile.limits;
    return this.hasCapacityFor(key) ? sessionsPerProcess - this.sessionCount : 0;
  }

  /** False after a change of the profile: then the operator wants new processes. */
  hasCapacityFor({ name, profile }: PoolKey): boolean {
    const isSame = this.key.name === name && this.host.profile === profile;
    return isSame && this.isUsable && this.sessionCount < profile.limits.sessionsPerProcess;
  }

  /** Calls `end` after the idle time of its profile. */
  startIdleTimer(end: () => void) {
    if (this.#idle !== null) return;
    const endIfUnused = () => {
      this.#idle = null;
      if (this.isUnused) end();
    };
    this.#idle = setTimeout(endIfUnused, this.host.profile.limits.idleMs);
    this.#idle.unref();
  }

  stopIdleTimer() {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
  }
}

/** What the keeper needs of the pool. */
interface PoolContents {
  readonly calls: OwnAgentCalls;
  readonly members: ReadonlySet<PoolMember>;
  readonly starting: ReadonlySet<StartingProcess>;
  readonly traces: Traces;
  nowMs(): number;
  /** The agents that are given up on for now. */
  failing(): readonly FailingAgent[];
  /** Forgets the failures of this profile. */
  forgive(tenantId: TenantId, profile: string): void;
}

/** Shows the pool's processes to operators of their tenant, and restarts them (P8). */
export class PoolKeeper implements AgentKeeper {
  readonly calls: OwnAgentCalls;
  readonly #pool: PoolContents;
  /** The logs of the processes that ended last. */
  #past: readonly (AgentLog & { readonly tenantId: TenantId })[] = [];

  constructor(pool: PoolContents) {
    this.calls = pool.calls;
    this.#pool = pool;
  }

  processes(tenantId: TenantId): readonly AgentProcessView[] {
    const starting = [...this.#pool.starting].filter(({ key }) => key.tenantId === tenantId);
    const running = this.#members(tenantId);
    return [...running.map((member) => this.#view(member)), ...starting.map(viewOfStarting)];
  }

  failing(): readonly FailingAgent[] {
    return this.#pool.failing();
  }

  restart(tenantId: TenantId, profile: string): AgentRestart {
    const running = this.#members(tenantId, profile);
    const ended = running.filter(({ isUnused }) => isUnused).length;
    for (const { host } of running) host.retire();
    this.#pool.forgive(tenantId, profile);
    return { ended, closing: running.length - ended };
  }

  logs(tenantId: TenantId, profile: string): readonly AgentLog[] {
    const past = this.#past.filter((log) => log.tenantId === tenantId && log.profile === profile);
    const running = this.#members(tenantId, profile).map((member) => logOf(member, true));
    return [...past.map(({ tenantId: _tenantId, ...log }) => log), ...running];
  }

  trace(tenantId: TenantId, reader: TraceReader): (() => void) | null {
    return this.#pool.traces.read(tenantId, reader);
  }

  /** Keeps the log of a process that has ended. */
  keep(member: PoolMember) {
    const { tenantId } = member.key;
    const kept = [...this.#past, { ...logOf(member, false), tenantId }];
    this.#past = kept.slice(-AGENT_LOGS_KEPT_MAX);
  }

  /** Drops the logs of a tenant that is deleted. */
  forget(tenantId: TenantId) {
    this.#past = this.#past.filter((log) => log.tenantId !== tenantId);
  }

  #members(tenantId: TenantId, profile?: string): readonly PoolMember[] {
    return [...this.#pool.members].filter(({ key }) => {
      return key.tenantId === tenantId && (profile ?? key.profile.name) === key.profile.name;
    });
  }

  #view({ key, process, host, bytes, sessionCount, startedMs }: PoolMember): AgentProcessView {
    return {
      profile: key.profile.name,
      process,
      pid: host.process.pid,
      workspace: key.workspace,
      state: host.isOpen ? "ready" : "closing",
      sessions: sessionCount,
      memoryBytes: bytes,
      runsForMs: Math.round(this.#pool.nowMs() - startedMs),
    };
  }
}

function viewOfStarting({ key, tap, seats }: StartingProcess): AgentProcessView {
  return {
    profile: key.profile.name,
    process: tap.process,
    pid: null,
    workspace: key.workspace,
    state: "starting",
    sessions: seats,
    memoryBytes: 0,
    runsForMs: 0,
  };
}

function logOf({ key, process, host }: PoolMember, isRunning: boolean): AgentLog {
  const { pid, errorOutput } = host.process;
  return { profile: key.profile.name, process, pid, isRunning, text: errorOutput.all() };
}

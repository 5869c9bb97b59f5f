import type { TenantId } from "../../core/id.ts";
import type { Result } from "../../core/result.ts";
import type { AgentHost } from "../bridge/host.ts";
import type { AgentProfile } from "../profile/profile.ts";
import type { WireTap, TraceReader, Traces, AgentKeeper, AgentLog, AgentProcessView, AgentRestart } from "../keeper.ts";
import { AGENT_LOGS_KEPT_MAX } from "../../core/limits.ts";

/** Who may share a process. Tenants never do. */
export interface Place {
  /** All of it in one text, but for what the profile says, which may be changed. */
  readonly name: string;
  readonly tenantId: TenantId;
  readonly profile: AgentProfile;
  readonly workspace: string;
}

/** A process on its way, and the sessions that have a seat in it already. */
export interface Starting {
  readonly place: Place;
  readonly abort: AbortController;
  /** Where its lines go, with the number that it has. */
  readonly tap: WireTap;
  /** Never rejects. */
  readonly done: Promise<Result<Member>>;
  /** What has become of it. */
  member: Member | null;
  seats: number;
  /** It has its share of what there is, which nobody else is given any more. */
  hasRoom: boolean;
  /** It was started before a session wanted it. */
  isPreheated: boolean;
}

/** One process of the pool. */
export class Member {
  readonly place: Place;
  readonly process: number;
  readonly host: AgentHost;
  readonly startedMs: number;
  /** Sessions that have a seat and are not with the host yet, which counts them from then on. */
  arriving: number;
  /** It did not answer when it was to make a session. */
  isHung = false;
  /** What it and its children had in memory when it was last looked at. */
  bytes = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor({ place, tap, seats }: Starting, host: AgentHost, startedMs: number) {
    this.place = place;
    this.process = tap.process;
    this.host = host;
    this.startedMs = startedMs;
    this.arriving = seats;
  }

  get isUnused(): boolean {
    return this.host.sessionCount + this.arriving === 0;
  }

  /** One that has grown large or cannot be trusted keeps its sessions, and gets no further ones. */
  get isUsable(): boolean {
    return this.host.isOpen && this.bytes < this.host.profile.limits.memoryBytes;
  }

  /** Whoever has changed the profile does not mean the processes of before. */
  hasRoomFor({ name, profile }: Place): boolean {
    const seats = this.host.sessionCount + this.arriving;
    const isHere = this.place.name === name && this.host.profile === profile;
    return isHere && this.isUsable && seats < profile.limits.sessionsPerProcess;
  }

  async weigh(): Promise<void> {
    this.bytes = (await this.host.process.memoryBytes()) ?? 0;
  }

  /** Nobody uses it: after a while it ends. */
  rest(end: () => void) {
    if (this.#idle !== null) return;
    this.#idle = setTimeout(end, this.host.profile.limits.idleMs);
    this.#idle.unref();
  }

  stir() {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
  }
}

/** What a pool has just now. */
interface PoolContents {
  readonly members: ReadonlySet<Member>;
  readonly starting: ReadonlySet<Starting>;
  readonly traces: Traces;
  nowMs(): number;
  /** Its failures count no more. */
  forgive(tenantId: TenantId, profile: string): void;
}

/** What can be seen of a pool's processes and done about them by those whose they are (P8). */
export class PoolKeeper implements AgentKeeper {
  readonly #pool: PoolContents;
  /** Of processes that have ended, the last ones. */
  #past: readonly (AgentLog & { readonly tenantId: TenantId })[] = [];

  constructor(pool: PoolContents) {
    this.#pool = pool;
  }

  processes(tenantId: TenantId): readonly AgentProcessView[] {
    const { starting } = this.#pool;
    const coming = [...starting].filter(({ place }) => place.tenantId === tenantId);
    return [...this.#members(tenantId).map((member) => this.#view(member)), ...coming.map(viewOf)];
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

  /** A process has ended, and what it said is worth keeping for a while. */
  keep(member: Member) {
    const { tenantId } = member.place;
    const kept = [...this.#past, { ...logOf(member, false), tenantId }];
    this.#past = kept.slice(-AGENT_LOGS_KEPT_MAX);
  }

  /** Of a tenant that is no more nothing is kept. */
  forget(tenantId: TenantId) {
    this.#past = this.#past.filter((log) => log.tenantId !== tenantId);
  }

  #members(tenantId: TenantId, profile: string | null = null): readonly Member[] {
    return [...this.#pool.members].filter(({ place }) => {
      return place.tenantId === tenantId && (profile ?? place.profile.name) === place.profile.name;
    });
  }

  #view({ place, process, host, bytes, arriving, startedMs }: Member): AgentProcessView {
    return {
      profile: place.profile.name,
      process,
      pid: host.process.pid,
      workspace: place.workspace,
      state: host.isOpen ? "ready" : "closing",
      sessions: host.sessionCount + arriving,
      memoryBytes: bytes,
      runsForMs: Math.round(this.#pool.nowMs() - startedMs),
    };
  }
}

function viewOf({ place, tap, seats }: Starting): AgentProcessView {
  const { profile, workspace } = place;
  const unknown = { pid: null, memoryBytes: 0, runsForMs: 0 };
  const { process } = tap;
  return {
    profile: profile.name,
    process,
    workspace,
    state: "starting",
    sessions: seats,
    ...unknown,
  };
}

function logOf({ place, process, host }: Member, isRunning: boolean): AgentLog {
  const { pid, log: text } = host.process;
  return { profile: place.profile.name, process, pid, isRunning, text };
}

import type { TenantId } from "../../core/id.ts";
import { AGENT_LOGS_KEPT_MAX } from "../../core/limits.ts";
import type { AgentKeeper, AgentLog, AgentProcessView, AgentRestart } from "../keeper.ts";
import type { TraceReader, Traces } from "../trace.ts";
import type { Member, Starting } from "./member.ts";

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

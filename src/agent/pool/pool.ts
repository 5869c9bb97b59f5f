import { errorBody, type Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import {
  AGENT_BREAKERS_MAX,
  AGENT_MEMORY_LOOK_MS,
  AGENT_PROCESSES_MAX,
  AGENT_STEADY_MS_MIN,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentListener, AgentOrder, AgentSession, Agents } from "../agent.ts";
import type { AgentHost } from "../bridge/host.ts";
import type { AgentProfile } from "../profile/profile.ts";
import { Breaker } from "./breaker.ts";

/** What a pool needs of the world; a test may give it another one. */
export interface PoolWorld {
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** Starts a process for this profile in this directory. */
  start(profile: AgentProfile, workspace: string): Promise<Result<AgentHost>>;
  /** All agents together may take this much; null where nobody counts. */
  readonly memoryBytesMax: number | null;
  nowMs(): number;
}

/** Who may share a process. Tenants never do. */
interface Place {
  readonly tenantId: TenantId;
  readonly profile: AgentProfile;
  readonly workspace: string;
}

interface Member {
  readonly place: string;
  readonly host: AgentHost;
  readonly startedMs: number;
  /** Sessions on their way to it, so that two do not take the same last room. */
  arriving: number;
  /** What it and its children had in memory when it was last looked at. */
  bytes: number;
  idle: NodeJS.Timeout | null;
}

/**
 * The agent processes of one server, by tenant, profile and workspace. Sessions share a process as
 * far as its profile allows; one that nobody uses is ended after a while; one that dies takes only
 * its own sessions with it.
 */
export class AgentPool implements Agents {
  readonly #world: PoolWorld;
  readonly #members = new Set<Member>();
  readonly #breakers = new Map<string, Breaker>();
  readonly #starting = new Map<string, Promise<Result<Member>>>();
  readonly #ending = new Set<Promise<void>>();
  readonly #looking: NodeJS.Timeout;
  #isOver = false;

  constructor(world: PoolWorld) {
    this.#world = world;
    this.#looking = setInterval(() => void this.#weighAll(), AGENT_MEMORY_LOOK_MS);
    this.#looking.unref();
  }

  async connect(order: AgentOrder, listener: AgentListener): Promise<Result<AgentSession>> {
    const place = this.#placeOf(order.tenantId, order.profile, order.workspace);
    if (!place.ok) return place;
    listener.status({ status: "created" });
    const found = await this.#roomFor(place.value);
    if (!found.ok) return found;
    const member = found.value;
    const connected = await member.host.connect(order, listener);
    member.arriving -= 1;
    void weigh(member);
    this.#restIfUnused(member);
    return connected;
  }

  async preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void> {
    const place = this.#placeOf(tenantId, profile, workspace);
    if (!place.ok) return;
    const name = nameOf(place.value);
    if (this.#memberWithRoom(name) !== undefined || this.#starting.has(name)) return;
    const started = await this.#start(place.value);
    if (started.ok) this.#restIfUnused(started.value);
  }

  async shutdown(): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#looking);
    await Promise.all(this.#starting.values());
    await Promise.all([...this.#members].map((member) => this.#end(member)));
    await Promise.all(this.#ending);
  }

  get processCount(): number {
    return this.#members.size;
  }

  #placeOf(tenantId: TenantId, name: string, workspace: string): Result<Place> {
    if (this.#isOver) return fail("agent_capacity", { reason: "the server is shutting down" });
    const profile = this.#world.profiles.get(name);
    const known = [...this.#world.profiles.keys()].join(", ");
    if (profile === undefined) return fail("agent_unknown", { profile: name, known });
    return ok({ tenantId, profile, workspace });
  }

  /** A process with room, counted as one fuller: one that is there, is coming, or is fresh. */
  async #roomFor(place: Place): Promise<Result<Member>> {
    const name = nameOf(place);
    let member = this.#memberWithRoom(name);
    while (member === undefined) {
      const started = await (this.#starting.get(name) ?? this.#start(place));
      if (!started.ok) return started;
      member = this.#memberWithRoom(name);
    }
    member.arriving += 1;
    if (member.idle !== null) clearTimeout(member.idle);
    member.idle = null;
    return ok(member);
  }

  /** One that has grown large keeps its sessions, and gets no further ones. */
  #memberWithRoom(name: string): Member | undefined {
    return [...this.#members].find(({ place, host, arriving, bytes }) => {
      const { sessionsPerProcess, memoryBytes } = host.profile.limits;
      const isFree = host.sessionCount + arriving < sessionsPerProcess;
      return place === name && isFree && (bytes < memoryBytes || host.sessionCount === 0);
    });
  }

  /** Whoever comes while it starts waits for the same start, and shares its failure too. */
  #start(place: Place): Promise<Result<Member>> {
    const name = nameOf(place);
    const starting = Promise.resolve()
      .then(() => this.#startPatiently(name, place))
      .finally(() => this.#starting.delete(name));
    this.#starting.set(name, starting);
    return starting;
  }

  async #startPatiently(name: string, { profile, workspace }: Place): Promise<Result<Member>> {
    const breaker = this.#breakerOf(name);
    const advice = breaker.advice(this.#world.nowMs());
    if (advice.kind === "refuse") {
      const { failures, retryMs, reason } = advice;
      return fail("agent_breaker_open", { profile: profile.name, failures, retryMs, reason });
    }
    if (advice.kind === "wait") await new Promise((done) => setTimeout(done, advice.waitMs));
    const room = await this.#makeRoom();
    if (!room.ok) return room;
    const started = await this.#world.start(profile, workspace);
    if (started.ok) return ok(this.#admit(name, started.value, breaker));
    breaker.failed(sentenceOf(started.refusal), this.#world.nowMs());
    return started;
  }

  /** An agent that has been running for a while has made good for what was before. */
  #breakerOf(name: string): Breaker {
    const nowMs = this.#world.nowMs();
    const isSteady = [...this.#members].some(
      ({ place, startedMs }) => place === name && nowMs - startedMs >= AGENT_STEADY_MS_MIN,
    );
    const known = isSteady ? undefined : this.#breakers.get(name);
    const breaker = known ?? new Breaker();
    this.#breakers.delete(name);
    this.#breakers.set(name, breaker);
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size > AGENT_BREAKERS_MAX && oldest !== undefined) {
      this.#breakers.delete(oldest);
    }
    return breaker;
  }

  #admit(place: string, host: AgentHost, breaker: Breaker): Member {
    const startedMs = this.#world.nowMs();
    const member: Member = { place, host, startedMs, arriving: 0, bytes: 0, idle: null };
    this.#members.add(member);
    host.onRelease = () => this.#restIfUnused(member);
    void host.gone.then(({ message }) => {
      if (member.idle !== null) clearTimeout(member.idle);
      // Whoever ended it took it out before.
      if (!this.#members.delete(member)) return;
      const nowMs = this.#world.nowMs();
      if (nowMs - startedMs < AGENT_STEADY_MS_MIN) breaker.failed(message, nowMs);
    });
    return member;
  }

  /** By count and by memory; an agent that nobody uses makes room for one that somebody wants. */
  async #makeRoom(): Promise<Result<void>> {
    for (let full = await this.#fullBecause(); full; full = await this.#fullBecause()) {
      const unused = [...this.#members].find(isUnused);
      if (unused === undefined) return fail("agent_capacity", { reason: full });
      await this.#end(unused);
    }
    return ok(undefined);
  }

  async #fullBecause(): Promise<string | null> {
    if (this.#members.size + this.#starting.size > AGENT_PROCESSES_MAX) {
      return `${AGENT_PROCESSES_MAX} are running already`;
    }
    const { memoryBytesMax } = this.#world;
    if (memoryBytesMax === null || this.#members.size === 0) return null;
    await this.#weighAll();
    const bytes = [...this.#members].reduce((sum, member) => sum + member.bytes, 0);
    // The next one is taken to be about as large as the others are.
    const isFull = bytes + bytes / this.#members.size > memoryBytesMax;
    return isFull ? `they would take more than ${memoryBytesMax} bytes of memory` : null;
  }

  async #weighAll(): Promise<void> {
    await Promise.all([...this.#members].map((member) => weigh(member)));
  }

  #restIfUnused(member: Member) {
    if (!isUnused(member) || member.idle !== null || !this.#members.has(member)) return;
    const { idleMs } = member.host.profile.limits;
    member.idle = setTimeout(() => this.#end(member), idleMs);
    member.idle.unref();
  }

  /** From here on nobody is given it any more. */
  #end(member: Member): Promise<void> {
    this.#members.delete(member);
    const ending = member.host.end();
    this.#ending.add(ending);
    return ending.finally(() => this.#ending.delete(ending));
  }
}

async function weigh(member: Member): Promise<void> {
  member.bytes = (await member.host.process.memoryBytes()) ?? 0;
}

function isUnused({ host, arriving }: Member): boolean {
  return host.sessionCount + arriving === 0;
}

function nameOf({ tenantId, profile, workspace }: Place): string {
  return JSON.stringify([tenantId, profile.name, workspace]);
}

function sentenceOf(refusal: Refusal): string {
  return String(errorBody(refusal).error);
}

import { setTimeout as pause } from "node:timers/promises";
import { errorBody, type Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { AGENT_MEMORY_LOOK_MS, AGENT_PROCESS_ASSUMED_BYTES, AGENT_PROCESSES_MAX, AGENT_STEADY_MS_MIN } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { AgentListener, AgentOrder, AgentSession, Agents } from "../agent.ts";
import { describeGone } from "../bridge/request.ts";
import type { AgentHost } from "../bridge/host.ts";
import { type AgentProfile, askingProfile } from "../profile/profile.ts";
import { Traces, type WireTap } from "../keeper.ts";
import { type Advice, Breakers, Wish } from "./retry.ts";
import { PoolKeeper, Member, type Place, type Starting } from "./members.ts";

/** What a pool needs of the world; a test may give it another one. */
export interface PoolWorld {
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** Starts a process for this profile in this directory, unless the signal says stop. */
  start(
    profile: AgentProfile,
    workspace: string,
    signal: AbortSignal,
    tap: WireTap,
  ): Promise<Result<AgentHost>>;
  /** All agents together may take this much; null where nobody counts. */
  readonly memoryBytesMax: number | null;
  nowMs(): number;
}

/** What decides about which processes a session can be given. */
type Whereabouts = Pick<AgentOrder, "tenantId" | "profile" | "workspace" | "asks">;

/** Room for one session in a process. */
interface Seat {
  readonly member: Member;
  /** It was started for this session, and no other wanted it. */
  readonly isOwn: boolean;
}

/**
 * The agent processes of one server, by tenant, profile and workspace. Sessions share a process as
 * far as its profile allows; one that nobody uses is ended after a while; one that dies takes only
 * its own sessions with it.
 */
export class AgentPool implements Agents {
  readonly #world: PoolWorld;
  readonly #members = new Set<Member>();
  readonly #breakers = new Breakers();
  readonly #askingProfiles = new WeakMap<AgentProfile, AgentProfile>();
  readonly #starting = new Set<Starting>();
  readonly #ending = new Set<Promise<void>>();
  readonly #traces = new Traces();
  readonly keeper: PoolKeeper;
  readonly #looking: NodeJS.Timeout;
  #isOver = false;

  constructor(world: PoolWorld) {
    this.#world = world;
    this.keeper = new PoolKeeper({
      members: this.#members,
      starting: this.#starting,
      traces: this.#traces,
      nowMs: () => world.nowMs(),
      forgive: (...names) => this.#breakers.forgiveAll(placesOf(...names)),
    });
    this.#looking = setInterval(() => void this.#weighAll(), AGENT_MEMORY_LOOK_MS);
    this.#looking.unref();
  }

  async connect(
    order: AgentOrder,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    const place = this.#placeOf(order);
    if (!place.ok) return place;
    if (signal.aborted) return fail("agent_connect_aborted");
    listener.status({ status: "created" });
    const wish = new Wish(order);
    for (;;) {
      const seat = await this.#seat(place.value, signal);
      if (!seat.ok) return seat;
      const connected = await this.#sitDown(seat.value, wish, listener, signal);
      if (connected.ok || !wish.mayTryAgain(connected.refusal, seat.value.isOwn)) return connected;
    }
  }

  async preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void> {
    const place = this.#placeOf({ tenantId, profile, workspace, asks: true });
    if (!place.ok || this.#memberFor(place.value) !== undefined) return;
    if (this.#startingFor(place.value) !== undefined) return;
    const starting = this.#start(place.value);
    starting.isPreheated = true;
    await starting.done;
  }

  async dismiss(tenantId: TenantId): Promise<void> {
    const isTheirs = ({ place }: { readonly place: Place }) => place.tenantId === tenantId;
    const starting = [...this.#starting].filter(isTheirs);
    for (const { abort } of starting) abort.abort();
    await Promise.all(starting.map(({ done }) => done));
    for (const member of [...this.#members].filter(isTheirs)) void this.#end(member);
    // Others may end just then; that theirs is over by now is all that matters.
    await Promise.all(this.#ending);
    this.#breakers.forgiveAll(placesOf(tenantId));
    this.keeper.forget(tenantId);
    this.#traces.endOf(tenantId);
  }

  async shutdown(): Promise<void> {
    this.#isOver = true;
    this.#traces.end();
    clearInterval(this.#looking);
    for (const { abort } of this.#starting) abort.abort();
    while (this.#starting.size > 0) {
      await Promise.all([...this.#starting].map(({ done }) => done));
    }
    await Promise.all([...this.#members].map((member) => this.#end(member)));
    await Promise.all(this.#ending);
  }

  get processCount(): number {
    return this.#members.size;
  }

  /** One that was started so that it asks is none for a session that wants to be asked nothing. */
  #placeOf({ tenantId, profile: called, workspace, asks }: Whereabouts): Result<Place> {
    if (this.#isOver) return shuttingDown();
    const plain = this.#world.profiles.get(called);
    const known = [...this.#world.profiles.keys()].join(", ");
    if (plain === undefined) return fail("agent_unknown", { profile: called, known });
    const profile = asks ? this.#asking(plain) : plain;
    const apart = profile === plain ? [] : ["asks"];
    const name = JSON.stringify([tenantId, profile.name, workspace, ...apart]);
    return ok({ name, tenantId, profile, workspace });
  }

  /** Always the same one, because processes are known by their profile. */
  #asking(plain: AgentProfile): AgentProfile {
    const known = this.#askingProfiles.get(plain);
    if (known !== undefined) return known;
    const asking = askingProfile(plain);
    this.#askingProfiles.set(plain, asking);
    return asking;
  }

  /** In a process that is there, or on its way, or in a fresh one. */
  async #seat(place: Place, signal: AbortSignal): Promise<Result<Seat>> {
    if (this.#isOver) return shuttingDown();
    const member = this.#memberFor(place);
    if (member !== undefined) {
      member.arriving += 1;
      member.stir();
      return ok({ member, isOwn: false });
    }
    const starting = this.#startingFor(place) ?? this.#start(place);
    starting.seats += 1;
    const isOwn = () => starting.seats === 1 && !starting.isPreheated;
    const aborted = abortOf(signal);
    const started = await Promise.race([starting.done, aborted.promise]);
    aborted.forget();
    if (started !== null) {
      return started.ok ? ok({ member: started.value, isOwn: isOwn() }) : started;
    }
    this.#standUp(starting);
    return fail("agent_connect_aborted");
  }

  /** One who left may come back soon, so what was started for them is kept like any unused one. */
  #standUp(starting: Starting) {
    starting.seats -= 1;
    if (starting.member === null) return;
    starting.member.arriving -= 1;
    this.#restIfUnused(starting.member);
  }

  async #sitDown(
    { member }: Seat,
    wish: Wish,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    // From the call on the host counts it.
    member.arriving -= 1;
    const begunMs = this.#world.nowMs();
    const connected = await member.host.connect(wish.order, listener, signal, wish.skipped);
    if (!connected.ok && connected.refusal.code === "agent_call_timeout") {
      member.isHung = true;
      const reason = sentenceOf(connected.refusal);
      this.#breakers.of(member.place.name).failed(reason, begunMs, this.#world.nowMs());
    }
    void member.weigh().then(() => this.#restIfUnused(member));
    this.#restIfUnused(member);
    return connected;
  }

  #memberFor(place: Place): Member | undefined {
    return [...this.#members].find((member) => member.hasRoomFor(place));
  }

  #startingFor(place: Place): Starting | undefined {
    const { sessionsPerProcess } = place.profile.limits;
    return [...this.#starting].find(({ place: its, seats, abort }) => {
      const isHere = its.name === place.name && its.profile === place.profile;
      return isHere && seats < sessionsPerProcess && !abort.signal.aborted;
    });
  }

  #start(place: Place): Starting {
    const { promise: done, resolve } = Promise.withResolvers<Result<Member>>();
    const abort = new AbortController();
    const no = { member: null, seats: 0, hasRoom: false, isPreheated: false };
    const tap = this.#traces.tap(place.tenantId, place.profile.name);
    const starting: Starting = { place, abort, tap, done, ...no };
    this.#starting.add(starting);
    const failed = (thrown: unknown) => fail("agent_capacity", { reason: String(thrown) });
    void this.#startPatiently(starting)
      .catch(failed)
      .then((started) => {
        this.#starting.delete(starting);
        const admitted = started.ok ? ok(this.#admit(starting, started.value)) : started;
        resolve(admitted);
        if (admitted.ok) this.#restIfUnused(admitted.value);
      });
    return starting;
  }

  async #startPatiently(starting: Starting): Promise<Result<AgentHost>> {
    const { place, abort, tap } = starting;
    const { profile, workspace } = place;
    const { signal } = abort;
    const stopped = () => (this.#isOver ? shuttingDown() : fail("agent_connect_aborted"));
    const advice = this.#advice(place.name);
    if (advice.kind === "refuse") {
      const { failures, retryMs, reason } = advice;
      return fail("agent_breaker_open", { profile: profile.name, failures, retryMs, reason });
    }
    if (advice.kind === "wait") await pause(advice.waitMs, null, { signal }).catch(() => {});
    if (signal.aborted) return stopped();
    const room = await this.#makeRoom(starting);
    if (!room.ok) return room;
    if (signal.aborted) return stopped();
    const begunMs = this.#world.nowMs();
    const started = await this.#world.start(profile, workspace, signal, tap);
    if (signal.aborted) {
      if (started.ok) await started.value.end();
      return stopped();
    }
    if (!started.ok) {
      const reason = sentenceOf(started.refusal);
      this.#breakers.of(place.name).failed(reason, begunMs, this.#world.nowMs());
    }
    return started;
  }

  #advice(place: string): Advice {
    const here = [...this.#members].filter((member) => member.place.name === place);
    if (here.some((member) => this.#isSteady(member))) this.#breakers.forgive(place);
    return this.#breakers.of(place).advice(this.#world.nowMs());
  }

  #isSteady({ startedMs, isHung }: Member): boolean {
    return !isHung && this.#world.nowMs() - startedMs >= AGENT_STEADY_MS_MIN;
  }

  /** Whoever waited for it has a seat in it. */
  #admit(starting: Starting, host: AgentHost): Member {
    const { place } = starting;
    const member = new Member(starting, host, this.#world.nowMs());
    starting.member = member;
    this.#members.add(member);
    host.attend({
      changed: () => this.#restIfUnused(member),
      gone: (gone, isFailure) => {
        member.stir();
        this.keeper.keep(member);
        if (this.#isSteady(member)) this.#breakers.forgive(place.name);
        // Whoever ended it took it out before.
        if (!this.#members.delete(member) || this.#isSteady(member) || !isFailure) return;
        const { startedMs } = member;
        const nowMs = this.#world.nowMs();
        this.#breakers.of(place.name).failed(describeGone(gone), startedMs, nowMs);
      },
    });
    return member;
  }

  /** By count and by memory; an agent that nobody uses makes room for one that somebody wants. */
  async #makeRoom(starting: Starting): Promise<Result<void>> {
    for (;;) {
      if (this.#world.memoryBytesMax !== null) await this.#weighNew();
      const full = this.#fullBecause();
      // In the same breath, so that of many at once each takes what the others have left.
      starting.hasRoom = full === null;
      if (full === null) return DONE;
      const unused = [...this.#members].find((member) => member.isUnused);
      const unwanted = [...this.#starting].find((one) => one !== starting && isUnwanted(one));
      if (unused !== undefined) await this.#end(unused);
      else if (unwanted !== undefined) await stopped(unwanted);
      else if (this.#ending.size > 0) await Promise.race(this.#ending);
      else return fail("agent_capacity", { reason: full });
    }
  }

  /** Why there is no room for one more; null if there is. */
  #fullBecause(): string | null {
    const members = [...this.#members];
    const onTheirWay = [...this.#starting].filter(({ hasRoom }) => hasRoom).length;
    if (members.length + onTheirWay + this.#ending.size >= AGENT_PROCESSES_MAX) {
      return `${AGENT_PROCESSES_MAX} are running already`;
    }
    const { memoryBytesMax } = this.#world;
    // However little there is, one may try.
    if (memoryBytesMax === null || members.length + onTheirWay === 0) return null;
    const weighed = members.filter(({ bytes }) => bytes > 0);
    const bytes = weighed.reduce((sum, member) => sum + member.bytes, 0);
    // Those on their way, and the next one, are taken to be about as large as the others are.
    const each = weighed.length === 0 ? AGENT_PROCESS_ASSUMED_BYTES : bytes / weighed.length;
    const unweighed = members.length - weighed.length + onTheirWay + 1;
    const isFull = bytes + each * unweighed > memoryBytesMax;
    return isFull ? `they would take more than ${memoryBytesMax} bytes of memory` : null;
  }

  /** The others are weighed now and then, which is often enough: each look costs something. */
  async #weighNew(): Promise<void> {
    const isNew = ({ bytes }: Member) => bytes === 0;
    await Promise.all([...this.#members].filter(isNew).map((member) => member.weigh()));
  }

  async #weighAll(): Promise<void> {
    const members = [...this.#members];
    await Promise.all(members.map((member) => member.weigh()));
    for (const member of members) this.#restIfUnused(member);
  }

  /** One that nobody may be given any more ends with its last session, the others in a while. */
  #restIfUnused(member: Member) {
    if (!member.isUnused || !this.#members.has(member)) return;
    if (member.isUsable) member.rest(() => void this.#end(member));
    else void this.#end(member);
  }

  /** From here on nobody is given it any more. */
  #end(member: Member): Promise<void> {
    this.#members.delete(member);
    member.stir();
    const ending = member.host.end();
    this.#ending.add(ending);
    return ending.finally(() => this.#ending.delete(ending));
  }
}

/** It has its share of what there is, and whoever it was started for has left. */
function isUnwanted({ hasRoom, seats, isPreheated }: Starting): boolean {
  return hasRoom && seats === 0 && !isPreheated;
}

async function stopped({ abort, done }: Starting): Promise<void> {
  abort.abort();
  await done;
}

/** What the names of all places of a tenant begin with, or of one of its profiles. */
function placesOf(...names: readonly [TenantId, profile?: string]): string {
  return `${JSON.stringify(names).slice(0, -1)},`;
}

/** Resolves with null when the signal fires, until it is forgotten. */
function abortOf(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<null>();
  const abort = () => resolve(null);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { promise, forget: () => signal.removeEventListener("abort", abort) };
}

function shuttingDown(): Result<never> {
  return fail("agent_capacity", { reason: "the server is shutting down" });
}

function sentenceOf(refusal: Refusal): string {
  return String(errorBody(refusal).error);
}

import { setTimeout as pause } from "node:timers/promises";
import { unknownAgent } from "../../core/agent-name.ts";
import { sentenceOf } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import { AGENT_PROCESSES_MAX, AGENT_STEADY_MS_MIN } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { AgentCaller, AgentListener, AgentSession, Agents, ConnectRequest } from "../agent.ts";
import type { AgentHost } from "../bridge/host.ts";
import { describeGone } from "../bridge/request.ts";
import { type Credentials, NO_CREDENTIALS } from "../credential/credentials.ts";
import { Traces, type WireTap } from "../keeper.ts";
import { type AgentProfile, askingProfile } from "../profile/profile.ts";
import { AgentCalls } from "./agent-calls.ts";
import { type FullPool, fullPool, helps, wantsSpare } from "./capacity.ts";
import {
  isUnwanted,
  PoolKeeper,
  type PoolKey,
  PoolMember,
  type StartingProcess,
  seatsIn,
  stopped,
} from "./members.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { Breakers, ConnectAttempt, type StartAdvice } from "./retry.ts";

export interface PoolOptions {
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** Starts a process for this key in its workspace, unless the signal fires. */
  start(key: PoolKey, signal: AbortSignal, tap: WireTap): Promise<Result<AgentHost>>;
  /** Finds the keys and homes of users; without it agents have those of the server. */
  readonly credentials?: Pick<Credentials, "of" | "forget">;
  /** The limit of all agents together; null for none. */
  readonly memoryBytesMax: number | null;
  readonly processesMax?: number;
  nowMs(): number;
}

/** Capacity for one session in a process. */
interface Seat {
  readonly member: PoolMember;
  /** The process was started for this session alone. */
  readonly isOwn: boolean;
}

/**
 * The agent processes of one server, by tenant, profile, workspace, and keys and home of the user.
 * Sessions share a process as far as its profile allows. An unused process ends after a while; one
 * that dies takes only its own sessions with it.
 */
export class AgentPool implements Agents {
  readonly #options: PoolOptions;
  readonly #members = new Set<PoolMember>();
  readonly #breakers = new Breakers();
  readonly #askingProfiles = new WeakMap<AgentProfile, AgentProfile>();
  readonly #starting = new Set<StartingProcess>();
  readonly #ending = new Set<Promise<void>>();
  readonly #traces = new Traces();
  readonly keeper: PoolKeeper;
  readonly calls = new AgentCalls({
    keyOf: (caller) => this.#keyOf(caller),
    use: (key, act) => this.#use(key, act),
  });
  readonly #memory = new MemoryWatch(this.#members, (member) => this.#endIfUnused(member));
  #isOver = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.keeper = new PoolKeeper({
      calls: this.calls,
      members: this.#members,
      starting: this.#starting,
      traces: this.#traces,
      nowMs: () => options.nowMs(),
      failing: () => this.#breakers.failing(options.nowMs(), (key) => this.#hasSteady(key)),
      forgive: (...names) => this.#breakers.forgiveAll(keyPrefix(...names)),
    });
  }

  async connect(
    request: ConnectRequest,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    const key = await this.#keyOf(request);
    if (!key.ok) return key;
    if (signal.aborted) return fail("agent_connect_aborted");
    listener.status({ status: "created" });
    const attempt = new ConnectAttempt(request);
    for (;;) {
      const seat = await this.#takeSeat(key.value, signal);
      if (!seat.ok) return seat;
      const connected = await this.#connect(seat.value, attempt, listener, signal);
      if (connected.ok || !attempt.mayRetry(connected.refusal, seat.value.isOwn)) return connected;
    }
  }

  async preheat(tenantId: TenantId, profile: string, workspace: string): Promise<void> {
    const key = await this.#keyOf({ tenantId, userId: null, profile, workspace, asks: true });
    if (!key.ok || this.#memberFor(key.value) !== undefined) return;
    if (this.#startingFor(key.value) !== undefined) return;
    await this.#start(key.value, "preheat").done;
  }

  async dismiss(tenantId: TenantId): Promise<void> {
    const isTheirs = ({ key }: { readonly key: PoolKey }) => key.tenantId === tenantId;
    this.calls.dismiss(tenantId);
    await Promise.all([...this.#starting].filter(isTheirs).map(stopped));
    for (const member of [...this.#members].filter(isTheirs)) void this.#end(member);
    // This may wait for processes of other tenants too, which does no harm.
    await Promise.all(this.#ending);
    this.#breakers.forgiveAll(keyPrefix(tenantId));
    this.keeper.forget(tenantId);
    this.#traces.endOf(tenantId);
  }

  async forget(tenantId: TenantId): Promise<boolean> {
    return (await this.#options.credentials?.forget(tenantId)) ?? true;
  }

  async shutdown(): Promise<void> {
    this.#isOver = true;
    this.#traces.end();
    this.#memory.end();
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

  /**
   * A process that was started to ask is not shared with sessions that want no asks, and none is
   * shared by users with other keys or homes.
   */
  async #keyOf(parts: AgentCaller): Promise<Result<PoolKey>> {
    const { tenantId, userId, profile: profileName, workspace, asks } = parts;
    const { profiles } = this.#options;
    const plain = profiles.get(profileName);
    if (plain === undefined) return unknownAgent(profileName, profiles.keys());
    const profile = asks ? this.#asking(plain) : plain;
    const found = (await this.#options.credentials?.of(profile, parts)) ?? ok(NO_CREDENTIALS);
    if (this.#isOver) return shuttingDown();
    if (!found.ok) return found;
    const credentials = found.value;
    const suffix = profile === plain ? [] : ["asks"];
    const digest = credentials.digest === "" ? [] : [credentials.digest];
    const name = JSON.stringify([tenantId, profile.name, workspace, ...suffix, ...digest]);
    return ok({ name, tenantId, userId, profile, workspace, credentials });
  }

  /** The same object each time, because members compare profiles by identity. */
  #asking(plain: AgentProfile): AgentProfile {
    const known = this.#askingProfiles.get(plain);
    if (known !== undefined) return known;
    const asking = askingProfile(plain);
    this.#askingProfiles.set(plain, asking);
    return asking;
  }

  /** In a running process, a starting one, or a new one. */
  async #takeSeat(key: PoolKey, signal: AbortSignal): Promise<Result<Seat>> {
    if (this.#isOver) return shuttingDown();
    const member = this.#memberFor(key);
    if (member !== undefined) {
      member.takeSeat(this.#options.nowMs());
      this.#startSpare(key);
      return ok({ member, isOwn: false });
    }
    const starting = this.#startingFor(key) ?? this.#start(key, "session");
    starting.seats += 1;
    this.#startSpare(key);
    const isOwn = () => starting.seats === 1 && starting.purpose === "session";
    const aborted = abortOf(signal);
    const started = await Promise.race([starting.done, aborted.promise]).finally(aborted.forget);
    // That a spare did not start is no fault of a session: it gets a process of its own.
    const isSpare = starting.purpose === "spare" && !signal.aborted;
    if (started?.ok === false && isSpare) return this.#takeSeat(key, signal);
    if (started !== null) {
      return started.ok ? ok({ member: started.value, isOwn: isOwn() }) : started;
    }
    this.#giveUpSeat(starting);
    return fail("agent_connect_aborted");
  }

  /** The client may retry soon, so the process is kept like any unused one. */
  #giveUpSeat(starting: StartingProcess) {
    starting.seats -= 1;
    if (starting.member === null) return;
    starting.member.arriving -= 1;
    this.#endIfUnused(starting.member);
  }

  async #connect(
    { member }: Seat,
    attempt: ConnectAttempt,
    listener: AgentListener,
    signal: AbortSignal,
  ): Promise<Result<AgentSession>> {
    // From this call on the host counts the session.
    member.arriving -= 1;
    const begunMs = this.#options.nowMs();
    const connected = await member.host.connect(attempt.request, listener, signal, attempt.skipped);
    if (!connected.ok && connected.refusal.code === "agent_call_timeout") {
      member.isHung = true;
      const reason = sentenceOf(connected.refusal);
      this.#breakers.of(member.key.name).failed(reason, begunMs, this.#options.nowMs());
    }
    this.#memory.grown(member);
    this.#endIfUnused(member);
    return connected;
  }

  /** Calls an agent without a session. */
  async #use<Value>(key: PoolKey, act: (host: AgentHost) => Promise<Result<Value>>) {
    const seat = await this.#takeSeat(key, new AbortController().signal);
    if (!seat.ok) return seat;
    const { member } = seat.value;
    return act(member.host).finally(() => {
      member.arriving -= 1;
      this.#endIfUnused(member);
    });
  }

  #memberFor(key: PoolKey): PoolMember | undefined {
    return [...this.#members].find((member) => member.hasCapacityFor(key));
  }

  #startingFor(key: PoolKey): StartingProcess | undefined {
    return [...this.#starting].find((starting) => seatsIn(starting, key) > 0);
  }

  /**
   * Starts the next process when few seats are left, so that the session that needs it need not
   * wait. It takes only what is free anyway, and makes way like any unused process.
   */
  #startSpare(key: PoolKey) {
    if (!wantsSpare(key, this.#members, this.#starting, this.#options.nowMs())) return;
    const mayStart = this.#advice(key.name).kind === "start" && this.#full(key) === null;
    if (mayStart) this.#start(key, "spare");
  }

  #start(key: PoolKey, purpose: StartingProcess["purpose"]): StartingProcess {
    const { promise: done, resolve } = Promise.withResolvers<Result<PoolMember>>();
    const abort = new AbortController();
    const begunMs = this.#options.nowMs();
    const initial = { begunMs, member: null, seats: 0, hasCapacity: false, purpose };
    const tap = this.#traces.tap(key.tenantId, key.profile.name);
    const starting: StartingProcess = { key, abort, tap, done, ...initial };
    this.#starting.add(starting);
    const failed = (thrown: unknown) => fail("agent_capacity", { reason: String(thrown) });
    void this.#startProcess(starting)
      .catch(failed)
      .then((started) => {
        this.#starting.delete(starting);
        const admitted = started.ok ? ok(this.#admit(starting, started.value)) : started;
        resolve(admitted);
        if (admitted.ok) this.#endIfUnused(admitted.value);
      });
    return starting;
  }

  async #startProcess(starting: StartingProcess): Promise<Result<AgentHost>> {
    const { key, abort, tap } = starting;
    const { profile } = key;
    const { signal } = abort;
    const stopped = () => (this.#isOver ? shuttingDown() : fail("agent_connect_aborted"));
    const advice = this.#advice(key.name);
    if (advice.kind === "refuse") {
      const { failures, retryMs, reason } = advice;
      return fail("agent_breaker_open", { profile: profile.name, failures, retryMs, reason });
    }
    if (advice.kind === "wait") await pause(advice.waitMs, null, { signal }).catch(() => {});
    if (signal.aborted) return stopped();
    const capacity = await this.#makeCapacity(starting);
    if (!capacity.ok) return capacity;
    if (signal.aborted) return stopped();
    const begunMs = this.#options.nowMs();
    const started = await this.#options.start(key, signal, tap);
    if (signal.aborted) {
      if (started.ok) await started.value.end();
      return stopped();
    }
    if (!started.ok) {
      const reason = sentenceOf(started.refusal);
      this.#breakers.of(key.name).failed(reason, begunMs, this.#options.nowMs());
    }
    return started;
  }

  #advice(key: string): StartAdvice {
    if (this.#hasSteady(key)) this.#breakers.forgive(key);
    return this.#breakers.of(key).advice(this.#options.nowMs());
  }

  #hasSteady(key: string): boolean {
    return [...this.#members].some((member) => member.key.name === key && this.#isSteady(member));
  }

  #isSteady({ startedMs, isHung }: PoolMember): boolean {
    return !isHung && this.#options.nowMs() - startedMs >= AGENT_STEADY_MS_MIN;
  }

  /** Adds a started process. The sessions that waited for it have their seats in it. */
  #admit(starting: StartingProcess, host: AgentHost): PoolMember {
    const { key } = starting;
    const member = new PoolMember(starting, host, this.#options.nowMs());
    starting.member = member;
    this.#members.add(member);
    this.calls.started(member);
    host.observe({
      changed: () => this.#endIfUnused(member),
      gone: (gone, isFailure) => {
        member.stopIdleTimer();
        this.keeper.keep(member);
        if (this.#isSteady(member)) this.#breakers.forgive(key.name);
        // `#end` has removed it before.
        if (!this.#members.delete(member) || this.#isSteady(member) || !isFailure) return;
        const { startedMs } = member;
        const nowMs = this.#options.nowMs();
        this.#breakers.of(key.name).failed(describeGone(gone), startedMs, nowMs);
      },
    });
    return member;
  }

  /** By count and by memory. Unused processes end to make capacity for a needed one. */
  async #makeCapacity(starting: StartingProcess): Promise<Result<void>> {
    for (;;) {
      if (this.#options.memoryBytesMax !== null) await this.#memory.measureNew();
      const full = this.#full(starting.key);
      // Without an await in between, so that concurrent starts do not take the same capacity.
      starting.hasCapacity = full === null;
      if (full === null) return DONE;
      const { scope, reason } = full;
      const mayEndOthers = starting.purpose !== "spare" || starting.seats > 0;
      if (!mayEndOthers) return fail("agent_capacity", { reason, scope });
      const isOfUse = (one: { readonly key: PoolKey }) => helps(scope, starting.key, one);
      const unused = [...this.#members].find((member) => member.isUnused && isOfUse(member));
      const unwanted = [...this.#starting].find((one) => {
        return one !== starting && isUnwanted(one) && isOfUse(one);
      });
      if (unused !== undefined) await this.#end(unused);
      else if (unwanted !== undefined) await stopped(unwanted);
      else if (scope === "server" && this.#ending.size > 0) await Promise.race(this.#ending);
      else return fail("agent_capacity", { reason, scope });
    }
  }

  #full(key: PoolKey): FullPool | null {
    const { memoryBytesMax, processesMax = AGENT_PROCESSES_MAX } = this.#options;
    const use = { members: this.#members, starting: this.#starting };
    const endingCount = this.#ending.size;
    return fullPool(key, { processesMax, memoryBytesMax }, { ...use, endingCount });
  }

  /** A process that gets no more sessions ends with its last, the others after the idle time. */
  #endIfUnused(member: PoolMember) {
    if (!member.isUnused || !this.#members.has(member)) return;
    if (member.isUsable) member.startIdleTimer(() => void this.#end(member));
    else void this.#end(member);
  }

  /** From here on it gets no session any more. */
  #end(member: PoolMember): Promise<void> {
    this.#members.delete(member);
    member.stopIdleTimer();
    const ending = member.host.end();
    this.#ending.add(ending);
    return ending.finally(() => this.#ending.delete(ending));
  }
}

/** The prefix of the keys of a tenant, or of one of its profiles. */
function keyPrefix(...names: readonly [TenantId, profile?: string]): string {
  return `${JSON.stringify(names).slice(0, -1)},`;
}

/** Resolves with null when the signal fires, unless `forget` is called before. */
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

import type { AgentUpdate } from "../../core/agent-update.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { AGENT_FILE_CALLS_MAX, AGENT_LAST_WORDS_MS_MAX, AGENT_SESSIONS_FORGOTTEN_MAX, AGENT_STRAY_TURN_MS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import { AGENT_METHODS, CLIENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS } from "../../wire/rpc.ts";
import type { AgentListener, AgentOffer, AgentOrder, AgentSession } from "../agent.ts";
import type { AgentConnection, RequestContext, AgentMessageHandler, Serving } from "../connection.ts";
import type { FaultLog } from "../fault.ts";
import { type AgentProcess, within } from "../process/process.ts";
import type { AgentProfile, UsageScope } from "../profile/profile.ts";
import { arrive } from "./arrive.ts";
import { type AgentAbilities, isWithheld } from "./capability.ts";
import { Claims } from "./claims.ts";
import { describeGone, type Gone, request } from "./request.ts";
import { patientLimit } from "../call-limit.ts";
import { isServed, notFound, prepare, refusal } from "./agent-requests.ts";
import { type Arrival, BridgeSession, type SessionHost } from "./session.ts";
import { Turnstile } from "./turnstile.ts";

/** Whoever keeps processes hears of this one, before anybody who uses it does. */
export interface HostEvents {
  /** A session let go of it, or it takes no further ones: it may be of no use any more. */
  changed(): void;
  /** It is gone. A failure is an end that nobody asked for and that no restoring brought about. */
  gone(gone: Gone, isFailure: boolean): void;
}

interface StartedAgent {
  readonly profile: AgentProfile;
  readonly process: AgentProcess;
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly terminals: SessionHost["terminals"];
  readonly faults: FaultLog;
}

/** One agent process that has been initialised, and the sessions that it serves. */
export class AgentHost implements SessionHost {
  readonly profile: AgentProfile;
  readonly process: AgentProcess;
  readonly connection: AgentConnection;
  readonly abilities: AgentAbilities;
  readonly terminals: SessionHost["terminals"];
  readonly faults: FaultLog;
  readonly files = new Turnstile(AGENT_FILE_CALLS_MAX);
  readonly usageScope: UsageScope;
  readonly callMs: number;
  readonly redacted: (text: string) => string;
  /** Resolves when the process is gone and all of its sessions have been told. Never rejects. */
  readonly gone: Promise<void>;
  readonly #sessions = new Set<BridgeSession>();
  readonly #claims = new Claims();
  readonly #exit = Promise.withResolvers<AgentExit>();
  /** Since when, in bytes of its error output, a session is the only one that this can be about. */
  readonly #soleSince = new WeakMap<BridgeSession, number>();
  #events: HostEvents | null = null;
  #hasServed = false;
  #arriving = 0;
  #restoring = 0;
  /** Nobody has asked for its end. */
  #isWanted = true;
  #isAlive = true;
  #isRetired = false;
  #end: { readonly gone: Gone; readonly isFailure: boolean } | null = null;

  constructor(started: StartedAgent) {
    this.profile = started.profile;
    this.process = started.process;
    this.connection = started.connection;
    this.abilities = started.abilities;
    this.terminals = started.terminals;
    this.faults = started.faults;
    this.usageScope = started.profile.usage;
    this.callMs = started.profile.limits.callMs;
    this.redacted = started.process.redactor.redacted;
    this.gone = this.#watch();
  }

  /** Those on their way to it count too. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Whether it takes further sessions. */
  get isOpen(): boolean {
    return this.#isAlive && !this.#isRetired;
  }

  /** From now on these are told; if it is gone already, at once. */
  attend(events: HostEvents) {
    this.#events = events;
    if (this.#end !== null) events.gone(this.#end.gone, this.#end.isFailure);
  }

  /** In the same breath it counts one session more. What was skipped before is told with it. */
  async connect(
    order: AgentOrder,
    listener: AgentListener,
    signal: AbortSignal,
    skipped: AgentOffer["skipped"] = [],
  ): Promise<Result<AgentSession>> {
    if (!this.isOpen) {
      return fail("agent_gone", { exit: this.#isAlive ? "it is full" : await this.exit(null) });
    }
    const session = new BridgeSession(this, order, listener);
    this.#joins(session);
    const aborted = Promise.withResolvers<Result<AgentSession>>();
    const abort = () => {
      void session.finish();
      aborted.resolve(fail("agent_connect_aborted"));
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const connected = await Promise.race([this.#bring(session, skipped), aborted.promise]);
    signal.removeEventListener("abort", abort);
    return connected;
  }

  /** What it wrote before it had any session belongs to the first. */
  #joins(session: BridgeSession) {
    for (const other of this.#sessions) this.#soleSince.delete(other);
    this.#sessions.add(session);
    this.turnBegins(session);
    if (!this.#hasServed) this.#soleSince.set(session, 0);
    this.#hasServed = true;
  }

  turnBegins(session: BridgeSession) {
    if (this.#sessions.size > 1) this.#soleSince.delete(session);
    else this.#soleSince.set(session, this.process.saidBytes);
  }

  /** Its last words, as far as they can be about this session only. */
  #wordsTo(session: BridgeSession | null): string {
    const since = session === null ? undefined : this.#soleSince.get(session);
    return since === undefined ? "" : this.process.saidSince(since);
  }

  async #bring(
    session: BridgeSession,
    skipped: AgentOffer["skipped"],
  ): Promise<Result<AgentSession>> {
    const arrived = await this.#arrived(session);
    if (!arrived.ok) {
      await session.finish();
      return arrived;
    }
    const arrival = { ...arrived.value, skipped: [...skipped, ...arrived.value.skipped] };
    if (!session.isOver) session.arrive(arrival);
    else if (this.#isAlive) void this.forget(arrival.agentSessionId);
    // It was lost or given up meanwhile, or whoever heard of it could not take it.
    if (!session.isOver) return ok(session);
    const exit = this.#isAlive ? "its session was given up" : await this.exit(session);
    return fail("agent_gone", { exit });
  }

  async #arrived(session: BridgeSession): Promise<Result<Arrival>> {
    const { abilities, profile } = this;
    const { order } = session;
    this.#arriving += 1;
    let isRestoring = false;
    const restores = (does: boolean) => {
      if (isRestoring !== does) this.#restoring += does ? 1 : -1;
      isRestoring = does;
    };
    const awaited = (id: string, isReplayed: boolean) => {
      if (session.isOver || !this.#claims.mayRestore(id, order)) return false;
      if (!this.#claims.claim(id, session)) return false;
      session.awaited(isReplayed);
      restores(true);
      return true;
    };
    const begun = (id: string, answer: JsonObject) => {
      const isNew = !isRestoring;
      restores(false);
      if (session.isOver) return true;
      if (isNew && this.#claims.isForgotten(id)) {
        // What it still knows of another conversation is not for this one (P8).
        this.retire();
        return false;
      }
      if (!this.#claims.claim(id, session)) return false;
      if (isNew) this.#claims.created(id, order);
      const early = this.#claims.takeEarly(id);
      for (const { update, chars } of early) void session.heard(update, chars);
      session.begun(answer);
      return true;
    };
    const notBegun = () => {
      restores(false);
      this.#claims.release(session);
      session.notBegun();
    };
    try {
      const isWanted = () => !session.isOver;
      const hung = () => this.retire();
      const late = (id: string) => this.#late(id);
      const isSet = (variable: string) => this.process.variables.has(variable);
      const { callMs, startMs } = profile.limits;
      const newLimit = patientLimit(callMs, startMs, this.process);
      const news = { newLimit, isSet, isWanted, awaited, begun, notBegun, hung, late };
      return await arrive({ callee: session.callee, abilities, profile, order, ...news });
    } finally {
      restores(false);
      this.#arriving -= 1;
      if (this.#arriving === 0) this.#claims.forgetEarly();
    }
  }

  /** Unless another session has come to have that name. */
  #late(agentSessionId: string) {
    if (this.#isAlive && this.#claims.get(agentSessionId) === undefined) {
      void this.forget(agentSessionId);
    }
  }

  async exit(session: BridgeSession | null): Promise<string> {
    const exit = await this.#exit.promise;
    return describeGone({ ...exit, message: this.#wordsTo(session) });
  }

  release(session: BridgeSession) {
    this.#claims.release(session);
    if (this.#sessions.delete(session)) this.#events?.changed();
  }

  async forget(agentSessionId: string, isAtWork = () => false): Promise<void> {
    if (!this.abilities.close) return this.#keep(agentSessionId, isAtWork());
    const params = { sessionId: agentSessionId };
    const { connection, redacted } = this;
    const callee = { connection, redacted, exit: () => this.exit(null) };
    const closed = await request(callee, AGENT_METHODS.closeSession, params, this.callMs);
    if (!closed.ok) this.retire();
  }

  /**
   * It cannot close a session, which costs less than another process would: a few may lie there.
   * One that has its process to itself, or goes on in it, leaves it to nobody.
   */
  #keep(agentSessionId: string, isAtWork: boolean) {
    const isAlone = this.profile.limits.sessionsPerProcess === 1;
    if (isAlone || isAtWork) return this.retire();
    this.#claims.forget(agentSessionId);
    if (this.#claims.forgottenCount >= AGENT_SESSIONS_FORGOTTEN_MAX) this.retire();
  }

  retire() {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#events?.changed();
  }

  giveUpOn(isAtWork: () => boolean) {
    this.retire();
    const end = () => {
      if (this.#isAlive && isAtWork()) void this.kill();
    };
    setTimeout(end, AGENT_STRAY_TURN_MS_MAX).unref();
  }

  async kill(): Promise<void> {
    this.#isWanted = false;
    this.#isRetired = true;
    await this.process.kill();
    await this.gone;
  }

  async end(): Promise<void> {
    this.#isWanted = false;
    this.#isRetired = true;
    await this.process.end();
    await this.gone;
  }

  /** The agent's words: this is what its connection calls. */
  readonly peer: AgentMessageHandler = {
    notified: (method, params, chars) => this.#notified(method, params, chars),
    requested: (method, params, asked) => this.#requested(method, params, asked),
  };

  #notified(method: string, params: JsonObject, chars: number): Promise<void> | undefined {
    if (method === CLIENT_METHODS.completeElicitation || isVendors(method)) return undefined;
    if (method !== CLIENT_METHODS.update) {
      this.faults.add("unknown_method", method);
      return undefined;
    }
    const id = stringAt(params, "sessionId") ?? "";
    const update = objectAt(params, "update");
    if (update === null || !isUpdate(update)) {
      this.faults.add("invalid_update", JSON.stringify(params));
      return undefined;
    }
    const session = this.#claims.get(id);
    if (session !== undefined) return session.heard(update, chars);
    if (this.#claims.isForgotten(id)) return undefined;
    if (this.#arriving === 0) this.faults.add("unknown_session", id);
    else if (!this.#claims.keepEarly(id, update, chars)) this.faults.add("dropped_update", id);
    return undefined;
  }

  #requested(method: string, params: JsonObject, asked: RequestContext): Serving {
    if (!isServed(method) || isWithheld(method, this.profile.withhold)) {
      if (!isVendors(method)) this.faults.add("unknown_method", method);
      return refusal(notFound(method));
    }
    const id = stringAt(params, "sessionId") ?? "";
    const session = this.#claims.get(id);
    if (session !== undefined) return session.serve(prepare(session, method, params), asked);
    if (!this.#claims.isForgotten(id)) this.faults.add("unknown_session", id);
    return refusal({ code: RPC_ERRORS.invalidParams, message: `No session "${id}" here` });
  }

  /**
   * Its end, whichever sign of it comes first: a child may hold its output open after its death,
   * and one that has closed its output can say nothing any more. What it said is read to the end,
   * though a listener may be waiting for its store: nobody is slowed down by that any more.
   */
  async #watch(): Promise<void> {
    await Promise.race([this.connection.ended, this.process.exited]);
    this.#isAlive = false;
    for (const session of this.#sessions) session.hurry();
    const exit = await this.process.end();
    await within(this.connection.ended, AGENT_LAST_WORDS_MS_MAX);
    const sessions = [...this.#sessions];
    const [only = null] = sessions;
    const message = this.#hasServed ? this.#wordsTo(only) : this.process.said;
    const gone = { ...exit, message };
    const isFailure = this.#isWanted && this.#restoring === 0;
    this.#end = { gone, isFailure };
    this.#events?.gone(gone, isFailure);
    this.#exit.resolve(exit);
    this.connection.close();
    const lose = (session: BridgeSession) =>
      session.lost({ ...exit, message: this.#wordsTo(session) });
    await Promise.all(sessions.map(lose));
  }
}

/** ACP leaves such names to agents: one that uses them does nothing wrong. */
function isVendors(method: string): boolean {
  return method.startsWith("_");
}

function isUpdate(update: JsonObject): update is AgentUpdate {
  return typeof update.sessionUpdate === "string";
}

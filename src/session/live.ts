import type { AgentPast, AgentSession } from "../agent/agent.ts";
import { type Refusal, refusal } from "../core/error.ts";
import type { ClientId, PromptId } from "../core/id.ts";
import type { JsonObject } from "../core/json.ts";
import { STORE_REOPEN_MS_MAX, STORE_REOPEN_MS_MIN } from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { type Command, SERVER } from "../core/session/command.ts";
import { decide } from "../core/session/decide.ts";
import { isVerdict, type Skipped } from "../core/session/event.ts";
import {
  pendingCount,
  type Session,
  type SlashWork,
  type WaitingPrompt,
} from "../core/session/state.ts";
import type { SessionState } from "../core/status.ts";
import type { SessionKey } from "../store/store.ts";
import { type ActorOwner, type OpenSession, SessionActor } from "./actor/actor.ts";
import type { Outcome } from "./actor/outcome.ts";
import type { Written } from "./actor/written.ts";
import { storedMessages } from "./conversation/past.ts";
import { givenBy } from "./given-by.ts";
import { Attendance } from "./life/attendance.ts";
import { openSession } from "./life/open.ts";
import type { SessionCredit } from "./meter/session-credit.ts";
import type { Tally } from "./stats/tally.ts";
import type { CallOff, SessionWorld } from "./world.ts";

/** The command came too late and was not even looked at: whoever gave it may give it again. */
export const LET_GO: Refusal = refusal("store_unavailable", {
  reason: "the session is being let go",
});

/** Its store is away, and tried again with pauses: nobody is kept waiting for that. */
const STORE_AWAY: Refusal = refusal("store_unavailable", {
  reason: "the session is being opened again",
});

const HAS_AGENT: ReadonlySet<SessionState> = new Set(["ready", "running", "waiting"]);

/** What becomes of a live session is told to whoever keeps it. */
export interface LiveOwner {
  /** These are durable: streams may have them. */
  published(live: LiveSession, written: readonly Written[]): void;
  /** The store failed under it; streams end, and it is being opened again. */
  interrupted(live: LiveSession, why: Refusal): void;
  /** A prompt that may be a command is next in it. */
  commandNext(live: LiveSession, prompt: WaitingPrompt): void;
  /** It is over here: given back to the store, or taken away from us. */
  released(live: LiveSession): void;
}

/**
 * A session in memory, for as long as somebody needs it. If its store fails, its actor is dropped
 * and another is made from what the store really has: there is no repair (design, section 3).
 */
export class LiveSession implements ActorOwner {
  readonly key: SessionKey;
  readonly #world: SessionWorld;
  readonly #owner: LiveOwner;
  readonly attendance: Attendance;
  /** Whether it goes on from a snapshot; a session without one has no turn yet. */
  readonly hasSnapshot: boolean;
  /** What could not be brought back when it was opened, and why (P6). */
  readonly skipped: readonly Skipped[];
  #actor: SessionActor;
  /** Said by the store when it was opened: the state may have lost count (P6). */
  #hadMessages: boolean;
  #term: number;
  #reopening: Promise<void> | null = null;
  #firstTry: Promise<void> = Promise.resolve();
  #endPause: CallOff = () => {};
  #failures = 0;
  #writtenAtMs: number;
  #watchers: (() => void)[] = [];
  #isOver = false;
  #isResting = false;
  #isAbandoned = false;
  /** While it is being let go. */
  #leaving: Promise<boolean> | null = null;

  constructor(world: SessionWorld, opened: OpenSession, owner: LiveOwner) {
    this.#world = world;
    this.#owner = owner;
    this.attendance = new Attendance(world.clock.nowMs(), opened.record.updatedAtMs);
    this.key = opened.key;
    this.#writtenAtMs = opened.record.updatedAtMs;
    this.#term = opened.term;
    this.#hadMessages = opened.hasMessages;
    this.hasSnapshot = opened.hasSnapshot;
    this.skipped = opened.skipped;
    this.#actor = new SessionActor(world, opened, this);
  }

  /** Takes a stored session, and closes what its last server left open; `start` sets it going. */
  static async open(
    world: SessionWorld,
    key: SessionKey,
    owner: LiveOwner,
  ): Promise<Result<LiveSession>> {
    const opened = await openSession(world, key, []);
    if (!opened.ok) return opened;
    const live = new LiveSession(world, opened.value, owner);
    // Nobody has it yet: if its store fails now, whoever wants it is told, and it is not kept.
    live.#isOver = true;
    const recovered = await live.#recover("recovery");
    if (recovered !== null) {
      await world.store.close(key, opened.value.term);
      return { ok: false, refusal: recovered };
    }
    live.#isOver = false;
    return ok(live);
  }

  /** The session as it is on the disk. */
  get session(): Session {
    return this.#actor.session;
  }

  get lastEventId(): number {
    return this.#actor.lastEventId;
  }

  get epoch(): string {
    return this.#actor.epoch;
  }

  get canSteer(): boolean {
    return this.#actor.link?.canSteer ?? false;
  }

  /** What was counted of it beside its state, up to now. */
  tally(): Promise<Result<Tally>> {
    return this.#actor.tally();
  }

  /** Who sees to what it costs. */
  get credit(): SessionCredit {
    return this.#actor.credit;
  }

  /** The session at its agent, while there is one. */
  get agent(): AgentSession | null {
    return this.#actor.link?.agent ?? null;
  }

  /** The commands that its agent has said are its own; none if it has said nothing. */
  get agentCommands(): readonly JsonObject[] {
    return this.#actor.link?.commands ?? [];
  }

  /** When that agent came. */
  get agentSinceMs(): number | null {
    return this.#actor.link?.sinceMs ?? null;
  }

  /** Prompts that wait or run, and shell commands: what must not be let go of. */
  get isBusy(): boolean {
    return pendingCount(this.session) > 0 || this.session.shells.size > 0;
  }

  /** Why its agent could not be had the last time, if it could not. */
  get agentFailure(): Refusal | null {
    return this.#actor.agentFailure;
  }

  start() {
    this.#actor.start();
  }

  /** Answers at once, unless it is just being opened again; then for as long as that may help. */
  async settled(): Promise<Refusal | null> {
    if (this.#reopening !== null && this.#failures === 0) await this.#firstTry;
    return this.#reopening === null ? null : STORE_AWAY;
  }

  async submit(command: Command): Promise<Outcome> {
    const why = await this.settled();
    if (why !== null) return this.#refuse(why);
    if (this.#isOver) return this.#refuse(LET_GO);
    return this.#actor.submit(command);
  }

  /** The same for what cannot be said later: being let go may yet come to nothing. */
  async insist(command: Command): Promise<Outcome> {
    while (this.#leaving !== null) await this.#leaving;
    return this.submit(command);
  }

  #refuse(refusal: Refusal): Outcome {
    return { refusal, answer: null, isNews: false, events: [], lastEventId: this.lastEventId };
  }

  /** Why a command would be refused as things stand; null if it would not be. */
  refusalOf(command: Command): Refusal | null {
    const decision = decide(this.#actor.decided, command);
    return decision.kind === "refused" ? decision.refusal : null;
  }

  /** Sees to it that it has an agent; answers why it has none, if that cannot be had. */
  async activated(): Promise<Refusal | null> {
    const by = givenBy(this.#world.clock, SERVER);
    const outcome = await this.submit({ ...by, type: "activate" });
    if (outcome.refusal !== null) return outcome.refusal;
    const settled = await this.until(({ connection }) => connection.sessionState !== "activating");
    if (!settled.ok) return settled.refusal;
    if (HAS_AGENT.has(settled.value.connection.sessionState)) return null;
    return this.agentFailure ?? refusal("agent_gone", { exit: "before it was ready" });
  }

  /** Waits until the durable session is so; it looks whenever something has become durable. */
  async until(isSo: (session: Session) => boolean): Promise<Result<Session>> {
    while (!isSo(this.session)) {
      if (this.#isOver) return fail("store_unavailable", { reason: "the session was let go" });
      await this.changed();
    }
    return ok(this.session);
  }

  /** Resolves when something more has become durable, or never will. */
  changed(): Promise<void> {
    return new Promise((wake) => this.#watchers.push(wake));
  }

  /**
   * Gives it back to the store, when everything decided is there. If it is at work by then, or its
   * store failed, it stays; then the answer is no.
   */
  letGo(): Promise<boolean> {
    const leaving = this.#letGo();
    this.#leaving = leaving;
    return leaving.finally(() => {
      this.#leaving = null;
    });
  }

  async #letGo(): Promise<boolean> {
    this.#isOver = true;
    await this.#reopening;
    await this.#actor.drained();
    // It was abandoned meanwhile, and must not come back from that.
    if (this.#isAbandoned) return true;
    if (this.#actor.isOver || !this.#isAtRest(this.#actor.decided)) {
      this.#isOver = false;
      if (this.#actor.isOver) this.failed(refusal("store_unavailable"));
      return false;
    }
    await this.#actor.end();
    await this.#world.store.close(this.key, this.#term);
    this.#wake();
    return true;
  }

  /** What waits is left to another server, so no agent is woken for it any more. */
  rest() {
    this.#isResting = true;
    this.#actor.rest();
  }

  /** Drops it as it is; the next server closes what it leaves open. */
  async abandon(): Promise<void> {
    this.#isOver = true;
    this.#isAbandoned = true;
    this.#endPause();
    await Promise.all([this.#actor.end(), this.#reopening]);
    this.#wake();
  }

  /** When something was last written of it. */
  get writtenAtMs(): number {
    return this.#writtenAtMs;
  }

  publish(written: readonly Written[]) {
    this.#failures = 0;
    const last = written.at(-1)?.event._meta.serverTimestamp ?? 0;
    this.#writtenAtMs = Math.max(this.#writtenAtMs, last);
    // Work that has just ended is the last thing that happened here, whoever wanted it.
    if (written.some(({ event }) => isVerdict(event))) {
      this.attendance.saw(null, this.#world.clock.nowMs());
    }
    this.#owner.published(this, written);
    this.#wake();
  }

  failed(why: Refusal) {
    // While it is being opened again, that loop hears of it and tries once more.
    if (this.#isOver || this.#reopening !== null) return;
    this.#owner.interrupted(this, why);
    const tried = Promise.withResolvers<void>();
    this.#firstTry = tried.promise;
    this.#reopening = this.#reopen(why, tried.resolve).finally(() => {
      this.#reopening = null;
      tried.resolve();
      this.#wake();
    });
  }

  present(): readonly ClientId[] {
    const { clients } = this.session;
    return this.attendance.present.filter((clientId) => clients.has(clientId));
  }

  commandNext(prompt: WaitingPrompt) {
    this.#owner.commandNext(this, prompt);
  }

  /** That prompt is a turn, although it begins with a slash. */
  proceed(promptId: PromptId, slash: SlashWork) {
    this.#actor.proceed(promptId, slash);
  }

  /** Writes down all that it is, outside of a turn; answers why that cannot be. */
  async snapshot(): Promise<Refusal | null> {
    const why = await this.settled();
    return why ?? (this.#isOver ? LET_GO : this.#actor.snapshot());
  }

  /** Nothing, for a session that has not had an agent yet. */
  past({ totals, ...session }: Session): AgentPast | null {
    const isNew = totals.turnsCompleted + totals.turnsFailed === 0 && !this.#hadMessages;
    // One that was never given a prompt was never told of what had been before it either; and
    // one of another epoch, as before a restored backup, may know of what never was.
    const isKnown = !session.agentUntold && session.agentEpoch === this.epoch;
    const agentSessionId = isKnown ? session.agentSessionId : null;
    if (agentSessionId === null && isNew) return null;
    return { agentSessionId, messages: () => storedMessages(this.#world, this.key) };
  }

  /** Until it succeeds or nobody wants it any more, with growing pauses. */
  async #reopen(why: Refusal, hasTried: () => void): Promise<void> {
    const { sessionId } = this.key;
    while (!this.#isOver) {
      this.#world.log("session reopened", { sessionId, because: why.code });
      const opened = await openSession(this.#world, this.key, []);
      if (this.#isOver) return;
      if (opened.ok) {
        this.#term = opened.value.term;
        this.#hadMessages = opened.value.hasMessages;
        this.#actor = new SessionActor(this.#world, opened.value, this);
        if (this.#isResting) this.#actor.rest();
        const failure = await this.#recover("store_failure");
        if (failure === null) return this.#goOn();
        if (failure.code !== "store_unavailable") return this.#giveUp();
      } else if (opened.refusal.code !== "store_unavailable") {
        return this.#giveUp();
      }
      const pause = this.#pause();
      hasTried();
      await pause;
    }
  }

  /** The log may say more than anybody was told, so whoever shows only the state is told that. */
  #goOn() {
    this.#owner.published(this, []);
    this.#actor.start();
  }

  /** It is gone, taken or damaged, or what it says is refused, and waiting mends none of these. */
  #giveUp() {
    this.#isOver = true;
    this.#owner.released(this);
  }

  #pause(): Promise<void> {
    const ms = Math.min(STORE_REOPEN_MS_MIN * 2 ** this.#failures, STORE_REOPEN_MS_MAX);
    this.#failures += 1;
    return new Promise((resolve) => {
      const callOff = this.#world.clock.after(ms, resolve);
      this.#endPause = () => {
        callOff();
        resolve();
      };
    });
  }

  async #recover(type: "recovery" | "store_failure"): Promise<Refusal | null> {
    const by = givenBy(this.#world.clock, SERVER);
    const { refusal: why } = await this.#actor.submit({ ...by, type });
    return why;
  }

  #isAtRest(session: Session): boolean {
    const isInactive = session.connection.sessionState === "inactive" && session.shells.size === 0;
    return isInactive && (this.#isResting || pendingCount(session) === 0);
  }

  #wake() {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}

import type { AgentPast, AgentSession } from "../agent/agent.ts";
import { type Refusal, refusal } from "../core/error.ts";
import type { ClientId } from "../core/id.ts";
import { STORE_REOPEN_MS_MAX, STORE_REOPEN_MS_MIN } from "../core/limits.ts";
import { DONE, fail, ok, type Result } from "../core/result.ts";
import { type Command, SERVER } from "../core/session/command.ts";
import { decide } from "../core/session/decide.ts";
import { isVerdict, type Skipped } from "../core/session/event.ts";
import { type Session, workCount } from "../core/session/state.ts";
import type { CallOff } from "../platform/clock.ts";
import type { SessionKey } from "../store/store.ts";
import { type OpenSession, openSession } from "./actor/open.ts";
import type { TurnQueue } from "./actor/turn-queue.ts";
import type { Outcome, Written } from "./actor/written.ts";
import type { AgentNow } from "./agent/agent-modes.ts";
import type { AgentSide } from "./agent/agent-side.ts";
import { agentPast } from "./conversation/past.ts";
import { EVICTED } from "./eviction.ts";
import { NOTHING_RELOADED, type Reloaded } from "./extension/extension-side.ts";
import { Attendance } from "./life/clients.ts";
import { withoutUnanswered } from "./life/making.ts";
import { joinParticipants, type LiveActor } from "./live-actor.ts";
import type { SessionCredit } from "./meter/session-credit.ts";
import type { Participant } from "./participant.ts";
import type { Tally } from "./stats/tally.ts";
import { boundCommand } from "./tenant/policy-check.ts";
import { type SessionWorld, stampedBy } from "./world.ts";

/** Its store is away and tried again with pauses, which no request waits for. */
const STORE_AWAY = refusal("store_unavailable", { reason: "the session is being opened again" });

/** What a live session is opened with. */
export interface LiveOptions {
  /** Makes the participants from outside: the streams, and what comes after the queue. */
  join(live: LiveSession): readonly [Participant, ...Participant[]];
  /** The session is over here: given back to the store, or taken away from us. */
  released(live: LiveSession): void;
  /** A session is deleted whose making came to nothing; lists have shown it. */
  unmade(made: Pick<LiveSession, "key" | "session">): void;
}

/**
 * A session in memory, for as long as it is used. If its store fails, its actor is dropped with all
 * participants, and another is made from what the store has: there is no repair.
 */
export class LiveSession {
  readonly key: SessionKey;
  readonly #world: SessionWorld;
  readonly #options: LiveOptions;
  readonly attendance: Attendance;
  /** Whether it goes on from a snapshot; a session without one has no turn yet. */
  readonly hasSnapshot: boolean;
  /** The actor of the log as it was last opened, and what others ask of its participants. */
  #parts: LiveActor;
  /** The end of those of actors before this one, whose store had failed. */
  #extensionsBefore: Promise<unknown> = Promise.resolve();
  /** As the store said when it was opened: the state may have lost count (P6). */
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

  constructor(world: SessionWorld, opened: OpenSession, options: LiveOptions) {
    this.#world = world;
    this.#options = options;
    this.attendance = new Attendance(world.clock.nowMs(), opened.record.updatedAtMs);
    this.key = opened.key;
    this.#writtenAtMs = opened.record.updatedAtMs;
    this.#term = opened.term;
    this.#hadMessages = opened.hasMessages;
    this.hasSnapshot = opened.hasSnapshot;
    this.#parts = this.#join(opened);
  }

  /** An actor for the log as it was opened, with everything that follows it. */
  #join(opened: OpenSession): LiveActor {
    return joinParticipants(this.#world, opened, {
      failed: (why) => this.#failed(why),
      present: () => this.present(),
      past: (session) => this.past(session),
      published: { durable: (written) => this.#published(written) },
      joining: this.#options.join(this),
    });
  }

  /** Takes a stored session, and closes what its last server left open; `start` sets it going. */
  static async open(
    world: SessionWorld,
    key: SessionKey,
    options: LiveOptions,
  ): Promise<Result<LiveSession>> {
    const opened = await openSession(world, key, []);
    if (!opened.ok) return opened;
    if (opened.value.isUnanswered) return withoutUnanswered(world, opened.value, options);
    const live = new LiveSession(world, opened.value, options);
    // It is not visible yet: if its store fails now, the request fails, and it is not kept.
    live.#isOver = true;
    const recovered = await live.#recover("recovery");
    if (recovered !== null) {
      await live.#parts.actor.end();
      await world.store.close(key, opened.value.term);
      return { ok: false, refusal: recovered };
    }
    live.#isOver = false;
    return ok(live);
  }

  /** The session as it is on the disk. */
  get session(): Session {
    return this.#parts.actor.session;
  }

  get lastEventId(): number {
    return this.#parts.actor.lastEventId;
  }

  get epoch(): string {
    return this.#parts.actor.epoch;
  }

  /** What was counted of it beside its state, up to now. */
  tally(): Promise<Result<Tally>> {
    return this.#parts.actor.tally();
  }

  get credit(): SessionCredit {
    return this.#parts.credit;
  }

  get queue(): TurnQueue {
    return this.#parts.queue;
  }

  /** The session at its agent, while there is one. */
  get agent(): AgentSession | null {
    return this.#parts.agent.link?.agent ?? null;
  }

  /** What its agent reports of itself. */
  get agentNow(): AgentNow | null {
    return this.#parts.agent.now;
  }

  get agentSide(): AgentSide {
    return this.#parts.agent;
  }

  /** Prompts that wait or run, and shell commands: what must not be let go of. */
  get isBusy(): boolean {
    return workCount(this.session) > 0 || this.session.shells.size > 0;
  }

  /** What could not be brought back, and what was left out since, with the reasons (P6). */
  get skipped(): readonly Skipped[] {
    return this.#parts.skipped();
  }

  /** Has its extensions come up, where it has any: they are there before it wakes. */
  async extended(): Promise<void> {
    await this.#parts.extensions?.bringUp();
  }

  /** Has its extensions replaced by those that there are now, as far as they let that happen. */
  async reloadExtensions(): Promise<Result<Reloaded>> {
    const { extensions } = this.#world;
    const reread = extensions === undefined ? DONE : await extensions.catalog.reread();
    if (!reread.ok) return reread;
    return ok((await this.#parts.extensions?.reload()) ?? NOTHING_RELOADED);
  }

  get agentFailure(): Refusal | null {
    return this.#parts.agent.failure;
  }

  start() {
    this.#parts.actor.start();
  }

  /** Resolves when it has been opened again after its store failed; null if it has not. */
  get reopening(): Promise<void> | null {
    return this.#reopening;
  }

  /** Answers at once, unless it is just being opened again; then for as long as that may help. */
  async settled(): Promise<Refusal | null> {
    if (this.#reopening !== null && this.#failures === 0) await this.#firstTry;
    return this.#reopening === null ? null : STORE_AWAY;
  }

  async submit(command: Command): Promise<Outcome> {
    const bounded = await boundCommand(this.#world, this, command);
    if (!bounded.ok) return this.refuse(bounded.refusal);
    const why = (await this.settled()) ?? (this.#isOver ? EVICTED : null);
    if (why !== null) return this.refuse(why);
    const outcome = await this.#parts.actor.decide(bounded.value);
    const { actor, type } = command;
    const isUse = actor.kind === "client" && type !== "detach" && outcome.refusal === null;
    this.attendance.wasUsed ||= isUse;
    return outcome;
  }

  /** The same for what cannot be given later: a release may yet come to nothing. */
  async insist(command: Command): Promise<Outcome> {
    while (this.#leaving !== null) await this.#leaving;
    return this.submit(command);
  }

  refuse(refusal: Refusal): Outcome {
    return { refusal, answer: null, isNews: false, events: [], lastEventId: this.lastEventId };
  }

  /** Why a command would be refused as things stand; null if it would not be. */
  refusalOf(command: Command): Refusal | null {
    const decision = decide(this.#parts.actor.decided, command);
    return decision.kind === "refused" ? decision.refusal : null;
  }

  /** Has an agent brought, if there is none; answers why that cannot begin. */
  async activate(): Promise<Refusal | null> {
    // One that is being opened again comes with extensions of its own. Any other wait, however
    // short, would take the activation out of the commit of what comes before it.
    if (this.#reopening !== null) await this.settled();
    if (this.#parts.extensions?.isUp === false) await this.extended();
    const command = { ...stampedBy(this.#world.clock, SERVER), type: "activate" } as const;
    return (await this.submit({ ...command, skipped: this.skipped })).refusal;
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
  release(): Promise<boolean> {
    const leaving = this.#release();
    this.#leaving = leaving;
    return leaving.finally(() => {
      this.#leaving = null;
    });
  }

  async #release(): Promise<boolean> {
    this.#isOver = true;
    await this.#reopening;
    await this.#parts.actor.drained();
    // It was abandoned meanwhile, and must not come back from that.
    if (this.#isAbandoned) return true;
    if (this.#parts.actor.isOver || !this.#isAtRest(this.#parts.actor.decided)) {
      this.#isOver = false;
      if (this.#parts.actor.isOver) this.#failed(refusal("store_unavailable"));
      return false;
    }
    await Promise.all([this.#parts.actor.end(), this.#extensionsBefore]);
    await this.#world.store.close(this.key, this.#term);
    this.#wake();
    return true;
  }

  /** What waits is left to another server, so no agent is woken for it any more. */
  rest() {
    this.#isResting = true;
    this.#parts.actor.rest();
  }

  /** Drops it as it is; the next server closes what it leaves open. */
  async abandon(): Promise<void> {
    this.#isOver = true;
    this.#isAbandoned = true;
    this.#endPause();
    await Promise.all([this.#parts.actor.end(), this.#reopening]);
    await this.#extensionsBefore;
    this.#wake();
  }

  /** When something was last written of it. */
  get writtenAtMs(): number {
    return this.#writtenAtMs;
  }

  #published(written: readonly Written[]) {
    this.#failures = 0;
    const last = written.at(-1)?.event._meta.serverTimestamp ?? 0;
    this.#writtenAtMs = Math.max(this.#writtenAtMs, last);
    // A turn that has just ended is the last activity of the session.
    if (written.some(({ event }) => isVerdict(event))) {
      this.attendance.saw(null, this.#world.clock.nowMs());
    }
    this.#wake();
  }

  #failed(why: Refusal) {
    // While it is being opened again, that loop learns of it and tries once more.
    if (this.#isOver || this.#reopening !== null) return;
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

  /** Writes down all that it is, outside of a turn; answers why that cannot be. */
  async snapshot(): Promise<Refusal | null> {
    const why = await this.settled();
    return why ?? (this.#isOver ? EVICTED : this.#parts.actor.snapshot());
  }

  past(session: Session): AgentPast | null {
    return agentPast(this.#world, this, session, this.#hadMessages);
  }

  /** Opens it again, with growing pauses, until that succeeds or the session is over. */
  async #reopen(why: Refusal, hasTried: () => void): Promise<void> {
    const { sessionId } = this.key;
    while (!this.#isOver) {
      this.#world.log("session reopened", { sessionId, because: why.code });
      const opened = await openSession(this.#world, this.key, []);
      if (this.#isOver) return;
      if (opened.ok) {
        this.#term = opened.value.term;
        this.#hadMessages = opened.value.hasMessages;
        this.#extensionsBefore = Promise.all([
          this.#extensionsBefore,
          this.#parts.extensions?.end(),
        ]);
        this.#parts = this.#join(opened.value);
        if (this.#isResting) this.#parts.actor.rest();
        const failure = await this.#recover("store_failure");
        if (failure === null) return this.#parts.actor.start();
        if (failure.code !== "store_unavailable") return this.#giveUp();
      } else if (opened.refusal.code !== "store_unavailable") {
        return this.#giveUp();
      }
      const pause = this.#pause();
      hasTried();
      await pause;
    }
  }

  /** It is gone, taken or damaged, or what it says is refused, and waiting mends none of these. */
  #giveUp() {
    this.#isOver = true;
    void this.#parts.actor.end();
    this.#options.released(this);
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
    const by = stampedBy(this.#world.clock, SERVER);
    const { refusal: why } = await this.#parts.actor.decide({ ...by, type });
    return why;
  }

  #isAtRest(session: Session): boolean {
    const isInactive = session.connection.sessionState === "inactive" && session.shells.size === 0;
    return isInactive && (this.#isResting || workCount(session) === 0);
  }

  #wake() {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

import type { AgentPast } from "../../agent/agent.ts";
import { type Refusal, refusal } from "../../core/error.ts";
import type { ClientId, PromptId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import { type Command, type Deadline, SERVER } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import type { Decision } from "../../core/session/draft.ts";
import type { Skipped } from "../../core/session/event.ts";
import type { Session, SlashWork, WaitingPrompt } from "../../core/session/state.ts";
import type { SessionKey, SessionRecord, Snapshot } from "../../store/store.ts";
import { SessionAudit } from "../audit/session-audit.ts";
import { givenBy } from "../given-by.ts";
import type { SessionCredit } from "../meter/session-credit.ts";
import type { Tally } from "../stats/tally.ts";
import type { SessionWorld } from "../world.ts";
import type { AgentLink } from "./agent-link.ts";
import { AgentSide, type AgentSideOwner } from "./agent-side.ts";
import { DeadlineTimers, deadlinesOf } from "./deadlines.ts";
import { type OpenHistory, weightOf } from "./history.ts";
import type { Outcome } from "./outcome.ts";
import { CommitPipeline, type PipelineOwner } from "./pipeline.ts";
import { isSameRecord, recordOf } from "./record.ts";
import { type Written, writeEvents } from "./written.ts";

/** What is known of a session when it is opened. */
export interface OpenSession {
  readonly key: SessionKey;
  readonly term: number;
  readonly epoch: string;
  readonly session: Session;
  readonly lastEventId: number;
  readonly record: SessionRecord;
  readonly hasSnapshot: boolean;
  /** Whether there is a conversation that an agent can be told of. */
  readonly hasMessages: boolean;
  /** What could not be brought back, and why. */
  readonly skipped: readonly Skipped[];
  readonly history: OpenHistory;
}

export interface ActorOwner {
  /** These are durable and may be told to everybody. */
  publish(written: readonly Written[], session: Session): void;
  /** The store has failed under it, so this actor is over and another has to be made. */
  failed(why: Refusal): void;
  /** Clients that have been seen since the server started. */
  present(): readonly ClientId[];
  /** What the agent was told and said before. */
  past(session: Session): AgentPast | null;
  /** A prompt that may be a command is next: whoever knows what it means sees to it. */
  commandNext(prompt: WaitingPrompt): void;
}

/**
 * One live session. Commands are decided as they come, one after the other, on the state in
 * memory; what they come to is told, answered and acted upon only when it is durable. The agent
 * and the timers follow the durable state.
 */
export class SessionActor implements PipelineOwner, AgentSideOwner {
  readonly key: SessionKey;
  readonly epoch: string;
  readonly #world: SessionWorld;
  readonly #owner: ActorOwner;
  readonly #pipeline: CommitPipeline;
  readonly #timers: DeadlineTimers;
  readonly #history: OpenHistory;
  readonly #agent: AgentSide;
  readonly #audit: SessionAudit;
  #session: Session;
  #durable: Session;
  #lastEventId: number;
  #durableEventId: number;
  #record: SessionRecord;
  #isOver = false;

  constructor(world: SessionWorld, opened: OpenSession, owner: ActorOwner) {
    this.#world = world;
    this.#owner = owner;
    this.key = opened.key;
    this.epoch = opened.epoch;
    this.#session = opened.session;
    this.#durable = opened.session;
    this.#lastEventId = opened.lastEventId;
    this.#durableEventId = opened.lastEventId;
    this.#record = opened.record;
    this.#history = opened.history;
    const { key, epoch, term } = opened;
    this.#audit = new SessionAudit({ sessionId: key.sessionId, epoch, term });
    this.#agent = new AgentSide(world, this);
    this.#pipeline = new CommitPipeline(world.store, opened, this);
    this.#timers = new DeadlineTimers(world.clock, (deadline) => this.#deadlinePassed(deadline));
  }

  /** The session as it is on the disk: what reads may speak of (P1). */
  get session(): Session {
    return this.#durable;
  }

  get lastEventId(): number {
    return this.#durableEventId;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get decided(): Session {
    return this.#session;
  }

  get link(): AgentLink | null {
    return this.#agent.link;
  }

  get credit(): SessionCredit {
    return this.#agent.credit;
  }

  /** What was counted of tools, models and turns, up to now; told when that is durable (P1). */
  async tally(): Promise<Result<Tally>> {
    const { tally } = this.#history;
    const failure = await this.#pipeline.settledSoFar();
    return failure === null ? ok(tally) : { ok: false, refusal: failure };
  }

  /** Why its agent could not be had the last time, if it could not. */
  get agentFailure(): Refusal | null {
    return this.#agent.failure;
  }

  submit(command: Command): Promise<Outcome> {
    return new Promise((resolve) => this.#take(command, resolve));
  }

  /** Begins to act on what was found: a queue that waits, deadlines that run. */
  start() {
    this.#watchSize(this.#world.clock.nowMs());
    this.#follow();
  }

  rest() {
    this.#agent.rest();
  }

  /** Resolves when everything decided so far is durable, or will never be. */
  drained(): Promise<void> {
    return this.#pipeline.drained();
  }

  /** Lets go of everything without a further word; what is not durable is lost. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#timers.clear();
    await this.#agent.end();
  }

  #take(command: Command, resolve: (outcome: Outcome) => void) {
    if (this.#isOver) {
      const gone = refusal("store_unavailable", { reason: "the session is being opened again" });
      const lastEventId = this.#durableEventId;
      resolve({ refusal: gone, answer: null, isNews: false, events: [], lastEventId });
      return;
    }
    const before = this.#session;
    const { decision, written } = this.#decided(command);
    const snapshot = this.#snapshotFor(command, decision, written);
    if (snapshot === "too large") {
      this.#refuseCommit(resolve);
      return;
    }
    this.#session = decision.session ?? this.#session;
    this.#lastEventId += written.length;
    this.#world.trace?.("decided", this.#traceOf(command, decision));
    this.#history.add(written);
    if (snapshot !== null) this.#close(snapshot);
    const why = decision.kind === "refused" ? decision.refusal : null;
    const answer = decision.kind === "accepted" ? (decision.answer ?? null) : null;
    const firstEventId = this.#lastEventId - written.length + 1;
    const revision = snapshot === null ? null : snapshot.expectedRevision + 1;
    this.#pipeline.add({
      written,
      journal: [
        ...this.#audit.decided({ command, decision, firstEventId, revision }),
        ...this.#world.meter.entries(this.key, before, written),
      ],
      record: this.#changedRecord(command.atMs),
      snapshot,
      session: this.#session,
      settled: (failure) => {
        const events = failure === null ? decision.events : [];
        const isNews = events.length > 0;
        const lastEventId = this.#durableEventId;
        resolve({ refusal: failure ?? why, answer, isNews, events, lastEventId });
      },
    });
    this.#watchSize(command.atMs);
  }

  /** Which events a command led to, and on whose behalf: the log of requests goes on here. */
  #traceOf({ type }: Command, { kind, events }: Decision) {
    const { sessionId } = this.key;
    const last = this.#lastEventId;
    return { sessionId, command: type, verdict: kind, events: events.length, lastEventId: last };
  }

  /**
   * The decision, with its events as they will be stored and sent. If a secret is found in one,
   * the command is cleaned and decided once more, so that the state is clean too (P11).
   */
  #decided(command: Command): { decision: Decision; written: readonly Written[] } {
    const decision = decide(this.#session, command);
    const written = writeEvents(decision.events, this.#lastEventId + 1);
    const { redact } = this.#world;
    if (written.every(({ text }) => redact(text) === text)) return { decision, written };
    const clean: Command = JSON.parse(redact(JSON.stringify(command)));
    const again = decide(this.#session, clean);
    this.#tellRedacted(clean.type);
    return { decision: again, written: writeEvents(again.events, this.#lastEventId + 1) };
  }

  #tellRedacted(where: string) {
    queueMicrotask(() => {
      const announcement = { type: "secret_redacted", data: { where } } as const;
      void this.submit({ ...this.#server(), type: "announce", announcement });
    });
  }

  #snapshotFor(
    { type, atMs }: Command,
    { session }: Decision,
    written: readonly Written[],
  ): Snapshot | "too large" | null {
    if (session === null) return null;
    const isPersisted = written.some(
      ({ event }) => event.type === "session_lifecycle" && event.data.event === "SessionPersisted",
    );
    if (!isPersisted) return null;
    const order = { session, last: written, prompt: this.#session.running, atMs };
    const isWhole = type !== "commit_refused";
    const snapshot = this.#history.snapshotWith({ ...order, isWhole });
    return isWhole && this.#isTooLarge(snapshot) ? "too large" : snapshot;
  }

  #isTooLarge(snapshot: Snapshot): boolean {
    return weightOf(snapshot) > this.#world.store.contract.capabilities.snapshotBytesLimit;
  }

  #close(snapshot: Snapshot) {
    if (this.#history.hasRedacted) this.#tellRedacted("conversation");
    this.#history.close(snapshot);
  }

  /** What cannot be remembered has not happened: the turn fails instead, and says why. */
  #refuseCommit(resolve: (outcome: Outcome) => void) {
    const { turnId } = this.#session.connection.turn;
    if (turnId === null) return;
    this.#take({ ...this.#server(), type: "commit_refused", turnId }, resolve);
  }

  #watchSize(atMs: number) {
    const { turnId } = this.#session.connection.turn;
    if (turnId !== null) {
      const isHeard = this.#session.running?.stopCause === null;
      if (!this.#history.isTooLarge || !isHeard) return;
      const limit = "turn_too_large";
      void this.submit({ ...this.#server(), type: "limit_passed", turnId, limit });
    } else if (this.#history.isLong) {
      this.#checkpoint(atMs);
    }
  }

  /** Outside of turns the log gets a snapshot too, so that opening reads a bounded tail. */
  #checkpoint(atMs: number, settled: (failure: Refusal | null) => void = () => {}) {
    const order = { session: this.#session, last: [], prompt: null, atMs };
    const whole = this.#history.snapshotWith({ ...order, isWhole: true });
    const isWhole = !this.#isTooLarge(whole);
    const snapshot = isWhole ? whole : this.#history.snapshotWith({ ...order, isWhole });
    this.#close(snapshot);
    this.#pipeline.add({
      written: [],
      journal: [this.#audit.checkpoint(snapshot.expectedRevision + 1, atMs)],
      record: null,
      snapshot,
      session: this.#session,
      settled,
    });
  }

  #changedRecord(atMs: number): SessionRecord | null {
    const decided = recordOf(this.#session, atMs);
    const { displayName } = decided;
    // A name may have become a secret since it was given, and is then not written again (P11).
    const record = { ...decided, displayName: displayName && this.#world.redact(displayName) };
    if (isSameRecord(record, this.#record)) return null;
    this.#record = record;
    return record;
  }

  durable(written: readonly Written[], session: Session | null) {
    this.#durableEventId += written.length;
    if (session !== null) this.#durable = session;
    this.#owner.publish(written, this.#durable);
    for (const one of written) this.#agent.hear(one);
    this.#follow();
  }

  failed(why: Refusal) {
    this.#isOver = true;
    this.#timers.clear();
    void this.#agent.end();
    this.#owner.failed(why);
  }

  #follow() {
    if (this.#isOver) return;
    this.#timers.follow(deadlinesOf(this.#durable, this.#world.settings.settleMs));
    this.#agent.follow(this.#durable);
  }

  #deadlinePassed(deadline: Deadline) {
    void this.submit({ ...this.#server(), type: "deadline_passed", deadline });
  }

  async say(command: Command): Promise<Refusal | null> {
    return (await this.submit(command)).refusal;
  }

  room(): Promise<void> | undefined {
    return this.#pipeline.room();
  }

  present(): readonly ClientId[] {
    return this.#owner.present();
  }

  past(session: Session): AgentPast | null {
    return this.#owner.past(session);
  }

  commandNext(prompt: WaitingPrompt) {
    this.#owner.commandNext(prompt);
  }

  /** That prompt is a turn, although it begins with a slash. */
  proceed(promptId: PromptId, slash: SlashWork) {
    if (!this.#isOver) this.#agent.proceed(promptId, slash);
  }

  /** A snapshot outside of any turn; answers why there is none. */
  snapshot(): Promise<Refusal | null> {
    return new Promise((resolve) => this.#checkpoint(this.#world.clock.nowMs(), resolve));
  }

  /** Recorded before the act: if it cannot be, there is no act. */
  audit(act: string, details: JsonObject): Promise<void> {
    const entry = this.#audit.act(act, details, this.#world.clock.nowMs());
    return new Promise((resolve, reject) => {
      this.#pipeline.add({
        written: [],
        journal: [entry],
        record: null,
        snapshot: null,
        session: this.#session,
        settled: (failure) => (failure === null ? resolve() : reject(new Error(failure.code))),
      });
    });
  }

  #server() {
    return givenBy(this.#world.clock, SERVER);
  }
}

import { type Refusal, refusal } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import { type Command, SERVER } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import { unchanged } from "../../core/session/draft.ts";
import type { Session } from "../../core/session/state.ts";
import type { JournalEntry, SessionKey, SessionRecord, Snapshot } from "../../store/store.ts";
import { RefusedTransitions } from "../audit/entries.ts";
import {
  type CommitStep,
  type Participant,
  type SessionSeat,
  slotChanges,
} from "../participant.ts";
import type { Tally } from "../stats/tally.ts";
import { type SessionWorld, stampedBy } from "../world.ts";
import { type OpenHistory, type SnapshotContent, weightOf } from "./history.ts";
import type { OpenSession } from "./open.ts";
import {
  HeldCommands,
  type LargeTurnEnd,
  type TakenCommand,
  type TurnMemory,
} from "./open-turns.ts";
import { CommitPipeline } from "./pipeline.ts";
import {
  type Decided,
  isPersisted,
  isSameRecord,
  type Outcome,
  outcomeOf,
  recordOf,
  traceOf,
  type Written,
  withoutSecrets,
  writeEvents,
} from "./written.ts";

/**
 * One live session. Commands are decided as they come, one after the other, on the state in
 * memory; what they come to is published, answered and acted upon only when it is durable. The
 * participants follow the durable state.
 */
export class SessionActor implements SessionSeat {
  readonly key: SessionKey;
  readonly epoch: string;
  readonly term: number;
  readonly #world: SessionWorld;
  /** Hears that the store has failed under the actor: it is over, and another has to be made. */
  readonly #failed: (why: Refusal) => void;
  readonly #pipeline: CommitPipeline;
  readonly #history: OpenHistory;
  readonly #memory: TurnMemory;
  /** Commands that came while the end of a large turn waits for others; null while none does. */
  #held: HeldCommands | null = null;
  readonly #refused: RefusedTransitions;
  #participants: readonly Participant[] = [];
  #session: Session;
  #durable: Session;
  #lastEventId: number;
  #durableEventId: number;
  #record: SessionRecord;
  #isOver = false;

  constructor(world: SessionWorld, opened: OpenSession, failed: (why: Refusal) => void) {
    this.#world = world;
    this.#failed = failed;
    this.key = opened.key;
    this.epoch = opened.epoch;
    this.term = opened.term;
    this.#session = opened.session;
    this.#durable = opened.session;
    this.#lastEventId = opened.lastEventId;
    this.#durableEventId = opened.lastEventId;
    this.#record = opened.record;
    this.#history = opened.history;
    this.#memory = world.turns.join(opened, () => this.#shed());
    this.#refused = new RefusedTransitions(opened.key, world.log);
    this.#pipeline = new CommitPipeline(world, opened, {
      durable: (written, session) => this.#becameDurable(written, session),
      failed: (why) => this.#storeFailed(why),
    });
  }

  /** Registers what follows the session, in the order in which it is called. */
  join(participants: readonly Participant[]) {
    this.#participants = participants;
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

  /** What was counted of tools, models and turns, up to now; told when that is durable (P1). */
  async tally(): Promise<Result<Tally>> {
    const { tally } = this.#history;
    const failure = await this.#pipeline.settledSoFar();
    return failure === null ? ok(tally) : { ok: false, refusal: failure };
  }

  /** Decides a command, and answers when that is durable. */
  decide(command: Command): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#take({ command, waiter: { resolve, reject } });
    });
  }

  tell(command: Command) {
    this.#take({ command, waiter: null });
  }

  async submit(command: Command): Promise<Refusal | null> {
    return (await this.decide(command)).refusal;
  }

  /** Begins to act on what was found: a queue that waits, deadlines that run. */
  start() {
    this.#watchSize(this.#world.clock.nowMs());
    this.#follow();
  }

  rest() {
    for (const participant of this.#participants) participant.rest?.();
  }

  /** Resolves when everything decided so far is durable, or will never be. */
  drained(): Promise<void> {
    return this.#pipeline.drained();
  }

  /** Ends all participants; what is not durable by now is lost. */
  async end(why: Refusal | null = null): Promise<void> {
    this.#isOver = true;
    this.#memory.leave();
    await Promise.all(this.#participants.map((participant) => participant.end?.(why)));
  }

  /** With a settlement this command is the end of a large turn. */
  #take(taken: TakenCommand, { settled, prepared }: LargeTurnEnd = {}) {
    if (this.#held !== null) {
      this.#held.push(taken);
      return;
    }
    const { command, waiter } = taken;
    if (this.#isOver) {
      settled?.();
      const gone = refusal("store_unavailable", { reason: "the session is being opened again" });
      waiter?.resolve(outcomeOf(unchanged(null), gone, this.#durableEventId));
      return;
    }
    const before = this.#session;
    const decided = prepared ?? this.#decided(command);
    const { decision, written, isRedacted } = decided;
    if (settled === undefined && this.#history.isLarge && isPersisted(written)) {
      this.#hold(taken, decided);
      return;
    }
    if (isRedacted) this.#tellRedacted(command.type);
    const snapshot = this.#snapshotFor(command, decided, prepared?.snapshot);
    if (snapshot === "too large") {
      this.#refuseCommit(taken, settled);
      return;
    }
    if (snapshot === null) settled?.();
    this.#session = decision.session ?? this.#session;
    this.#lastEventId += written.length;
    this.#world.trace?.("decided", traceOf(this.key, command, decision, this.#lastEventId));
    this.#history.add(written);
    if (snapshot !== null) this.#close(snapshot);
    if (decision.kind === "refused") this.#refused.note(command, before, decision.refusal);
    const firstEventId = this.#lastEventId - written.length + 1;
    const revision = snapshot === null ? null : snapshot.expectedRevision + 1;
    const isAwaited = waiter !== null || settled !== undefined;
    const answer = (failure: Refusal | null) => {
      settled?.();
      waiter?.resolve(outcomeOf(decision, failure, this.#durableEventId));
    };
    this.#pipeline.add({
      written,
      journal: this.#journal({
        kind: "decision",
        ...{ command, decision, before, written, firstEventId, revision },
      }),
      // Most chunks of an agent change nothing of the session.
      record: this.#session === before ? null : this.#changedRecord(command.atMs),
      snapshot,
      session: this.#session,
      settled: isAwaited ? answer : null,
    });
    this.#watchSize(command.atMs);
  }

  /**
   * The decision, with its events as they will be stored and sent. If a secret is found in one,
   * the command is cleaned and decided once more, so that the state is clean too (P11).
   */
  #decided(command: Command): Decided {
    const decision = decide(this.#session, command);
    const written = writeEvents(decision.events, this.#lastEventId + 1);
    const { redact } = this.#world;
    if (written.every(({ text }) => redact(text) === text)) {
      return { decision, written, isRedacted: false };
    }
    const clean: Command = JSON.parse(redact(JSON.stringify(command)));
    const again = decide(this.#session, clean);
    const rewritten = writeEvents(again.events, this.#lastEventId + 1);
    return { decision: again, written: rewritten, isRedacted: true };
  }

  /** While commands are held nothing else is decided, so what was decided holds as long. */
  #hold(first: TakenCommand, decided: Decided) {
    this.#memory.isSettling = true;
    this.#held = new HeldCommands(first, this.#world.turns.settling, {
      prepare: async () => {
        const content = this.#snapshotContent(first.command, decided);
        const snapshot = content && (await this.#history.snapshotInTurns(content, this.#world));
        return { ...decided, snapshot };
      },
      begin: () => {
        this.#held = null;
        this.#memory.isSettling = false;
      },
      take: (taken, end) => this.#take(taken, end),
    });
  }

  #tellRedacted(where: string) {
    queueMicrotask(() => {
      const announcement = { type: "secret_redacted", data: { where } } as const;
      void this.submit({ ...this.#server(), type: "announce", announcement });
    });
  }

  #snapshotFor(command: Command, decided: Decided, prepared?: Snapshot | null) {
    const snapshot = prepared === undefined ? this.#snapshotNow(command, decided) : prepared;
    if (snapshot === null) return null;
    return isWhole(command) && this.#isTooLarge(snapshot) ? "too large" : snapshot;
  }

  #snapshotNow(command: Command, decided: Decided): Snapshot | null {
    const content = this.#snapshotContent(command, decided);
    return content && this.#history.snapshotWith(content);
  }

  #snapshotContent(command: Command, { decision, written }: Decided): SnapshotContent | null {
    const { session } = decision;
    if (session === null || !isPersisted(written)) return null;
    const how = { isWhole: isWhole(command), more: slotChanges(this.#participants, written) };
    return { session, last: written, prompt: this.#session.running, ...how, atMs: command.atMs };
  }

  #isTooLarge(snapshot: Snapshot): boolean {
    return weightOf(snapshot) > this.#world.store.contract.capabilities.snapshotBytesLimit;
  }

  #close(snapshot: Snapshot) {
    if (this.#history.hasRedacted) this.#tellRedacted("conversation");
    this.#history.close(snapshot);
  }

  /** What cannot be remembered has not happened: the turn fails instead, and says why. */
  #refuseCommit(taken: TakenCommand, settled?: () => void) {
    const { turnId } = this.#session.connection.turn;
    if (turnId === null) return settled?.();
    const command: Command = { ...this.#server(), type: "commit_refused", turnId };
    this.#take({ ...taken, command }, settled === undefined ? {} : { settled });
  }

  #watchSize(atMs: number) {
    const { turnId } = this.#session.connection.turn;
    const isHeard = this.#session.running?.stopCause === null;
    if (turnId === null && this.#history.isLong) this.#checkpoint(atMs);
    if (turnId !== null && isHeard && this.#history.isTooLarge) this.#stopTurn(turnId);
    // The largest turn of all is stopped here, which may be this one.
    this.#memory.hold(this.#history.heldBytes, turnId !== null && isHeard);
  }

  #stopTurn(turnId: TurnId) {
    const limit = "turn_too_large";
    void this.submit({ ...this.#server(), type: "limit_passed", turnId, limit });
  }

  /** All open turns take too much memory, and this one the most of its tenant: it fails. */
  #shed() {
    const { turnId } = this.#session.connection.turn;
    if (turnId === null) return;
    const { sessionId } = this.key;
    this.#world.log("turn stopped: memory", { sessionId, bytes: this.#history.heldBytes });
    this.#history.shed();
    this.#memory.hold(this.#history.heldBytes, false);
    this.#stopTurn(turnId);
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
      journal: this.#journal({ kind: "checkpoint", revision: snapshot.expectedRevision + 1, atMs }),
      record: null,
      snapshot,
      session: this.#session,
      settled,
    });
  }

  #changedRecord(atMs: number): SessionRecord | null {
    const decided = recordOf(this.#session, atMs);
    const record = withoutSecrets(decided, this.#world.redact);
    if (isSameRecord(record, this.#record)) return null;
    this.#record = record;
    return record;
  }

  #journal(step: CommitStep): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const participant of this.#participants) {
      for (const entry of participant.journal?.(step) ?? []) entries.push(entry);
    }
    return entries;
  }

  #becameDurable(written: readonly Written[], session: Session | null) {
    this.#durableEventId += written.length;
    if (session !== null) this.#durable = session;
    for (const participant of this.#participants) participant.durable?.(written, this.#durable);
    this.#follow();
  }

  #storeFailed(why: Refusal) {
    void this.end(why);
    this.#failed(why);
  }

  #follow() {
    for (const participant of this.#participants) {
      if (!this.#isOver) participant.follow?.(this.#durable);
    }
  }

  async settled(): Promise<void> {
    await this.#held?.goesOn;
    await this.#pipeline.settledSoFar();
  }

  backpressure(): Promise<void> | undefined {
    return this.#held?.goesOn ?? this.#pipeline.room();
  }

  /** A snapshot outside of any turn; answers why there is none. */
  async snapshot(): Promise<Refusal | null> {
    // The end of a turn that is being written follows the snapshot before this one.
    await this.#held?.goesOn;
    return new Promise((resolve) => this.#checkpoint(this.#world.clock.nowMs(), resolve));
  }

  recordAct(act: string, details: JsonObject): Promise<void> {
    const atMs = this.#world.clock.nowMs();
    const journal = this.#journal({ kind: "act", act, details, atMs });
    return new Promise((resolve, reject) => {
      this.#pipeline.add({
        written: [],
        journal,
        record: null,
        snapshot: null,
        session: this.#session,
        settled: (failure) => (failure === null ? resolve() : reject(new Error(failure.code))),
      });
    });
  }

  #server() {
    return stampedBy(this.#world.clock, SERVER);
  }
}

/** What is too large for a snapshot is told without its turn. */
function isWhole({ type }: Command): boolean {
  return type !== "commit_refused";
}

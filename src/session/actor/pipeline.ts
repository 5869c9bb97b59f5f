import type { Refusal } from "../../core/error.ts";
import {
  ACTOR_BATCH_BYTES_MAX,
  ACTOR_BYTES_WAITING_MAX,
  COMMIT_YIELD_CHARS,
} from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type {
  Commit,
  JournalEntry,
  SessionKey,
  SessionRecord,
  Snapshot,
} from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import type { Written } from "./written.ts";

/** What one decision adds to the log, and what is to happen when that is on the disk. */
export interface Addition {
  readonly written: readonly Written[];
  readonly journal: readonly JournalEntry[];
  readonly record: SessionRecord | null;
  readonly snapshot: Snapshot | null;
  /** The session as it is once all of this has happened. */
  readonly session: Session | null;
  /** Called when everything up to here is durable, or will never be; null if no caller waits. */
  readonly settled: ((failure: Refusal | null) => void) | null;
}

interface CommitObserver {
  /** These are durable now: they may be told, answered and acted upon. */
  durable(written: readonly Written[], session: Session | null): void;
  /** A commit was refused, or its outcome is unknown. Nothing goes through any more. */
  failed(why: Refusal): void;
}

interface PendingCommit {
  written: Written[];
  journal: JournalEntry[];
  record: SessionRecord | null;
  snapshot: Snapshot | null;
  session: Session | null;
  bytes: number;
  settled: SettledCall[];
}

type SettledCall = NonNullable<Addition["settled"]>;

/**
 * Carries decisions to the store, in order and without waiting for one before sending the next.
 * What was decided in one go travels in one commit; a snapshot travels alone, because it stands
 * and falls as a whole. After the first failure nothing more is sent. The store scans, weighs and
 * copies what it is given, so a large commit is given to it in a turn of its own (P10).
 */
export class CommitPipeline {
  readonly #world: Pick<SessionWorld, "store" | "yield">;
  readonly #key: SessionKey;
  readonly #term: number;
  readonly #observer: CommitObserver;
  #afterEventId: number;
  #open: PendingCommit | null = null;
  readonly #underWay = new Set<PendingCommit>();
  /** While a large commit waits for its turn, those behind it wait too. */
  #turn: Promise<void> | null = null;
  #bytesWaiting = 0;
  #failure: Refusal | null = null;
  #roomers: (() => void)[] = [];

  constructor(
    world: Pick<SessionWorld, "store" | "yield">,
    at: { readonly key: SessionKey; readonly term: number; readonly lastEventId: number },
    observer: CommitObserver,
  ) {
    this.#world = world;
    this.#key = at.key;
    this.#term = at.term;
    this.#afterEventId = at.lastEventId;
    this.#observer = observer;
  }

  add(addition: Addition) {
    if (this.#failure !== null) return addition.settled?.(this.#failure);
    const { written, journal, record, snapshot, session, settled } = addition;
    const isEmpty = written.length + journal.length === 0 && record === null && snapshot === null;
    if (isEmpty) return settled === null ? undefined : this.#settleAfterAll(settled);
    if (snapshot !== null) this.#send();
    const batch = this.#opened();
    batch.written.push(...written);
    batch.journal.push(...journal);
    batch.record = record ?? batch.record;
    batch.snapshot = snapshot;
    batch.session = session;
    if (settled !== null) batch.settled.push(settled);
    const bytes = written.reduce((sum, one) => sum + one.bytes, 0);
    batch.bytes += bytes;
    this.#bytesWaiting += bytes;
    if (snapshot !== null || batch.bytes > ACTOR_BATCH_BYTES_MAX) this.#send();
  }

  /** Undefined while there is room; else it resolves when there is some again. */
  room(): Promise<void> | undefined {
    if (this.#bytesWaiting <= ACTOR_BYTES_WAITING_MAX || this.#failure !== null) return undefined;
    return new Promise((resolve) => this.#roomers.push(resolve));
  }

  /** Resolves when everything added so far is durable, or tells why it will never be. */
  settledSoFar(): Promise<Refusal | null> {
    return new Promise((resolve) => this.#settleAfterAll(resolve));
  }

  /** Resolves when the store has answered everything, well or badly: nothing is on its way. */
  async drained(): Promise<void> {
    while (this.#open !== null || this.#underWay.size > 0) {
      await new Promise<void>((resolve) => this.#settleAfterAll(() => resolve()));
    }
  }

  /** Nothing to write, but its answer may speak only of what is durable. */
  #settleAfterAll(settled: SettledCall) {
    const last = this.#open ?? [...this.#underWay].at(-1);
    if (last === undefined) settled(this.#failure);
    else last.settled.push(settled);
  }

  #opened(): PendingCommit {
    if (this.#open === null) {
      queueMicrotask(() => this.#send());
      this.#open = {
        written: [],
        journal: [],
        record: null,
        snapshot: null,
        session: null,
        bytes: 0,
        settled: [],
      };
    }
    return this.#open;
  }

  #send() {
    const batch = this.#open;
    this.#open = null;
    if (batch === null) return;
    const { written, journal, record, snapshot } = batch;
    const commit: Commit = {
      afterEventId: this.#afterEventId,
      events: written.map(({ text }) => text),
      journal,
      ...(record && { record }),
      ...(snapshot && { snapshot }),
    };
    this.#afterEventId += written.length;
    this.#underWay.add(batch);
    void this.#committed(batch, commit).then((committed) => {
      this.#underWay.delete(batch);
      if (this.#failure !== null) settle(batch, this.#failure);
      else if (committed.ok) this.#succeed(batch);
      else this.#fail(batch, committed.refusal);
    });
  }

  async #committed({ bytes }: PendingCommit, commit: Commit): Promise<Result<unknown>> {
    const isLarge = bytes + charsOf(commit.snapshot) > COMMIT_YIELD_CHARS;
    if (isLarge) this.#turn = (this.#turn ?? Promise.resolve()).then(() => this.#world.yield());
    const turn = this.#turn;
    if (turn !== null) {
      await turn;
      if (this.#turn === turn) this.#turn = null;
      if (this.#failure !== null) return { ok: false, refusal: this.#failure };
    }
    return this.#world.store.commit(this.#key, this.#term, commit);
  }

  #succeed(batch: PendingCommit) {
    this.#bytesWaiting -= batch.bytes;
    this.#observer.durable(batch.written, batch.session);
    settle(batch, null);
    if (this.#bytesWaiting <= ACTOR_BYTES_WAITING_MAX) this.#letIn();
  }

  /** What was decided after it was decided on sand, and is taken back with it. */
  #fail(batch: PendingCommit, why: Refusal) {
    this.#failure = why;
    const lost = [batch, ...this.#underWay, ...(this.#open === null ? [] : [this.#open])];
    this.#open = null;
    this.#observer.failed(why);
    for (const one of lost) settle(one, why);
    this.#letIn();
  }

  #letIn() {
    const roomers = this.#roomers;
    this.#roomers = [];
    for (const enter of roomers) enter();
  }
}

function charsOf(snapshot: Snapshot | undefined): number {
  if (snapshot === undefined) return 0;
  const { messages, turn } = snapshot;
  return messages.reduce((sum, { length }) => sum + length, turn?.text.length ?? 0);
}

/** Answers all decisions of this commit, once. */
function settle(batch: PendingCommit, failure: Refusal | null) {
  const { settled } = batch;
  batch.settled = [];
  for (const tell of settled) tell(failure);
}

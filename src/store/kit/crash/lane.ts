import type { Result } from "../../../core/result.ts";
import type { Holder } from "../../holder.ts";
import type * as S from "../../store.ts";
import * as sample from "../sample.ts";
import type { Chance, ExpectedRefusal, StoreStep } from "./workload.ts";

/** Makes a call and tells it, both before and after. */
export type Submit = (step: StoreStep, refused?: ExpectedRefusal) => Promise<Result<unknown>>;

/** What all lanes of one process share. */
export interface Hand {
  readonly submit: Submit;
  readonly chance: Chance;
  readonly holder: Holder;
  readonly storeId: string;
  /** A number that no other call of this process has had, for keys and times. */
  readonly fresh: () => number;
  /** Sets this process apart from those before it over the same place. */
  readonly life: string;
}

const FLIGHT_MAX = 8;
/** Enough of them that a commit needs more than one row for its events. */
const MANY_EVENTS = 400;
const SLOT_OWNERS = ["core", "memory", "skills", "todo"];

/** Where a session stands when it has been taken. */
type LanePosition = Pick<S.StoredRecord, "term" | "lastEventId" | "snapshotEventId" | "revision">;

/** One session after another, each with many commits that do not wait for their answers. */
export class Lane {
  readonly #hand: Hand;
  readonly #name: string;
  readonly #tenant: S.SessionKey["tenantId"];
  readonly #flight = new Set<Promise<unknown>>();
  #key: S.SessionKey | null = null;
  #term = 0;
  #holder: Holder;
  #owned = false;
  #lastEventId = 0;
  #snapshotEventId = 0;
  #turnFrom = 1;
  #revision = 0;
  #createdAt = 0;
  #entries: readonly S.JournalEntry[] = [];
  #sessions = 0;

  constructor(hand: Hand, name: string, tenant: S.SessionKey["tenantId"]) {
    this.#hand = hand;
    this.#holder = hand.holder;
    this.#name = name;
    this.#tenant = tenant;
  }

  /** Goes on with a session that an earlier process has left. */
  adopt(key: S.SessionKey) {
    this.#key = key;
    this.#owned = false;
  }

  /** The session that the lane owns just now, with its term. */
  get owned(): { readonly key: S.SessionKey; readonly term: number } | null {
    return this.#key !== null && this.#owned ? { key: this.#key, term: this.#term } : null;
  }

  /** Its ownership has ended with the store. */
  disown() {
    this.#owned = false;
  }

  async run(steps: number): Promise<void> {
    const depth = this.#hand.chance.between(1, FLIGHT_MAX);
    for (let step = 0; step < steps; step += 1) {
      while (this.#flight.size >= depth) await Promise.race(this.#flight);
      await this.#step();
    }
    await Promise.all(this.#flight);
  }

  async #step(): Promise<void> {
    const { chance } = this.#hand;
    if (this.#key === null) return this.#create();
    if (!this.#owned) return chance.happens(90) ? this.#take(this.#key) : this.#delete(this.#key);
    const roll = chance.below(100);
    if (roll < 2) return this.#delete(this.#key);
    if (roll < 6) return this.#close(this.#key);
    if (roll < 8) return this.#take(this.#key);
    if (roll < 12) return this.#fault(this.#key);
    if (roll < 15) return this.#cut(this.#key);
    if (roll < 55) return this.#commit(this.#key, this.#events(chance.between(1, 5)));
    if (roll < 56) return this.#commit(this.#key, this.#events(MANY_EVENTS));
    if (roll < 60) return this.#commit(this.#key, this.#withoutEvents());
    return this.#snapshot(this.#key);
  }

  #send(step: StoreStep, refused: ExpectedRefusal = null): Promise<Result<unknown>> {
    const pending = this.#hand.submit(step, refused);
    const flying = pending.finally(() => this.#flight.delete(flying));
    this.#flight.add(flying);
    return pending;
  }

  async #create() {
    const { chance, life, storeId, fresh } = this.#hand;
    this.#sessions += 1;
    const key = sample.keyOf(`${life}-${this.#name}-${this.#sessions}`, this.#tenant);
    this.#begin(key, { term: 0, lastEventId: 0, snapshotEventId: 0, revision: 0 }, fresh());
    const manifest = sample.manifest(key, storeId, this.#times());
    const events = this.#events(chance.below(3));
    const journal = this.#journal(key);
    const epoch = this.#epoch();
    const base = { holder: this.#holder, manifest, record: this.#record(), epoch };
    const commit = chance.happens(50)
      ? { ...events, journal }
      : { ...events, journal, snapshot: this.#snapshotOf(key) };
    const made = await this.#send({ op: "create", key, session: { ...base, commit } });
    // The answer to a `create` is what the contract says it is, and so is that to an `open`.
    if (made.ok) this.#term = (made.value as S.Owned).term;
  }

  /**
   * Opens or seizes it; its own session too, while commits of the term before are on their way.
   * Only by seizing does one get what another of this process holds.
   */
  async #take(key: S.SessionKey) {
    const { chance, life } = this.#hand;
    const before = this.#owned ? this.#term : null;
    const journal = this.#journal(key);
    const seizes = chance.happens(30);
    if (seizes) this.#holder = { ...this.#holder, label: `${life}-${chance.below(3)}` };
    const audit = seizes ? [...journal, this.#entry(key, "audit")] : journal;
    const op = seizes ? "seize" : "open";
    const taken = await this.#send({ op, key, holder: this.#holder, audit });
    if (!taken.ok) return;
    const { term, record, manifest } = taken.value as S.Opened;
    this.#begin(key, { ...record, term }, manifest.createdAt);
    if (before !== null && chance.happens(50)) this.#refusedCommit(key, before, "writer_lost");
  }

  #begin(key: S.SessionKey, at: LanePosition, createdAt: number) {
    this.#key = key;
    this.#owned = true;
    this.#term = at.term;
    this.#lastEventId = at.lastEventId;
    this.#snapshotEventId = at.snapshotEventId;
    this.#turnFrom = at.snapshotEventId + 1;
    this.#revision = at.revision;
    this.#createdAt = createdAt;
  }

  #close(key: S.SessionKey) {
    this.#owned = false;
    void this.#send({ op: "close", key, term: this.#term });
  }

  #delete(key: S.SessionKey) {
    const journal = this.#journal(key);
    this.#key = null;
    void this.#send({ op: "delete", key, holder: this.#holder, audit: journal });
  }

  #commit(key: S.SessionKey, commit: Omit<S.Commit, "journal">) {
    const journal = this.#journal(key);
    void this.#send({ op: "commit", key, term: this.#term, commit: { ...commit, journal } });
  }

  /** A new record, or an entry, or nothing at all: each of them is a commit too. */
  #withoutEvents() {
    const record = this.#hand.chance.happens(70) ? { record: this.#record() } : {};
    return { ...this.#events(0), ...record };
  }

  #snapshot(key: S.SessionKey) {
    const { chance } = this.#hand;
    const events = this.#events(chance.below(4));
    const record = chance.happens(50) ? { record: this.#record() } : {};
    this.#commit(key, { ...events, ...record, snapshot: this.#snapshotOf(key) });
  }

  /** Mostly somewhere within a run of events, and sometimes nowhere: only the epoch is new. */
  #cut(key: S.SessionKey) {
    const lastEventId = this.#hand.chance.between(this.#snapshotEventId, this.#lastEventId);
    const cut = { lastEventId, epoch: this.#epoch(), audit: this.#journal(key) };
    this.#lastEventId = lastEventId;
    void this.#send({ op: "cutLog", key, term: this.#term, cut });
  }

  /** A call that must be refused, among others that must not suffer from it. */
  #fault(key: S.SessionKey) {
    const isGap = this.#hand.chance.happens(50);
    if (isGap) this.#refusedCommit(key, this.#term, "event_gap");
    else this.#refusedCommit(key, this.#term + 1, "writer_lost");
  }

  /** With events or without: neither may go through at the wrong place, or under no term. */
  #refusedCommit(key: S.SessionKey, term: number, code: "event_gap" | "writer_lost") {
    const afterEventId = this.#lastEventId + (code === "event_gap" ? 1 : 0);
    const events = this.#hand.chance.happens(70) ? ["never to be seen"] : [];
    const commit = { afterEventId, events, journal: [this.#entry(key)] };
    void this.#send({ op: "commit", key, term, commit }, code);
  }

  #snapshotOf(key: S.SessionKey): S.Snapshot {
    const { chance, storeId, fresh } = this.#hand;
    const manifest = sample.manifest(key, storeId, {
      ...this.#times(),
      ...(chance.happens(30) && { smState: { smExtId: "sm", stateSlotRef: `ref-${fresh()}` } }),
    });
    const written = SLOT_OWNERS.filter(() => chance.happens(35));
    const ends = this.#lastEventId > this.#snapshotEventId && chance.happens(70);
    this.#snapshotEventId = this.#lastEventId;
    const turn = ends ? { turn: this.#turn() } : {};
    this.#revision += 1;
    return sample.snapshot(manifest, this.#revision - 1, {
      messages: this.#texts(chance.below(4)),
      slots: written.map((owner) => sample.slot(owner, this.#payload(), `1.0.${fresh()}`)),
      removedSlots: SLOT_OWNERS.filter((owner) => !written.includes(owner) && chance.happens(15)),
      trimThrough: chance.happens(40) ? chance.between(0, this.#lastEventId) : 0,
      ...turn,
    });
  }

  #turn(): S.FoldedTurn {
    const firstId = this.#turnFrom;
    this.#turnFrom = this.#lastEventId + 1;
    return { firstId, lastId: this.#lastEventId, text: `[${this.#text()}]` };
  }

  #events(count: number): Pick<S.Commit, "afterEventId" | "events"> {
    const afterEventId = this.#lastEventId;
    this.#lastEventId += count;
    return { afterEventId, events: this.#texts(count) };
  }

  #record(): S.SessionRecord {
    const { chance } = this.#hand;
    const updatedAtMs = sample.CREATED_AT_MS + this.#hand.fresh();
    const displayName = chance.happens(50) ? `name ${updatedAtMs}` : null;
    const status = chance.oneOf(["inactive", "ready", "running"] as const) ?? "error";
    const flags = { closed: chance.happens(20), shared: chance.happens(20) };
    const pendingPrompts = chance.below(3);
    return sample.record({ updatedAtMs, displayName, status, ...flags, pendingPrompts });
  }

  #epoch(): string {
    return `${this.#hand.life}-epoch-${this.#hand.fresh()}`;
  }

  #times() {
    return { createdAt: this.#createdAt, updatedAt: sample.CREATED_AT_MS + this.#hand.fresh() };
  }

  /** Mostly nothing; sometimes new entries; sometimes one that is there already. */
  #journal(key: S.SessionKey): readonly S.JournalEntry[] {
    const { chance } = this.#hand;
    if (chance.happens(10))
      return this.#entries.filter(({ sessionId }) => sessionId === key.sessionId);
    this.#entries = Array.from({ length: chance.below(3) }, () => this.#entry(key));
    return this.#entries;
  }

  #entry({ sessionId }: S.SessionKey, into?: S.JournalName): S.JournalEntry {
    const { life, fresh, chance } = this.#hand;
    const journal = into ?? (chance.happens(50) ? "audit" : "ledger");
    return sample.entry(`${life}-${fresh()}`, { journal, sessionId, text: this.#text() });
  }

  #texts(count: number): readonly string[] {
    return Array.from({ length: count }, () => this.#text());
  }

  /** Each is unique, most are short, and a few need pages of their own. */
  #text(): string {
    const { chance, fresh, life } = this.#hand;
    return JSON.stringify({ of: life, n: fresh(), pad: "x".repeat(padding(chance)) });
  }

  #payload(): Uint8Array {
    const { chance, fresh } = this.#hand;
    const payload = new Uint8Array(8 + padding(chance) * 4).fill(chance.below(256));
    new DataView(payload.buffer).setFloat64(0, fresh());
    return payload;
  }
}

function padding(chance: Chance): number {
  return chance.happens(4) ? chance.below(20_000) : chance.below(200);
}

import type { ChildId, ClientId, UserId } from "../../core/id.ts";
import {
  SUBSCRIBER_NOTICES_MAX,
  TAIL_HELD_BYTES_MAX,
  TAIL_HELD_FRAMES_MAX,
} from "../../core/limits.ts";
import type { Audience } from "../../core/session/visibility.ts";
import {
  Backlog,
  CatchUp,
  mayLeave,
  type PastSource,
  type Tail,
  type TailNode,
  type TailPosition,
} from "./catch-up.ts";
import { childPart } from "./child-part.ts";
import { ChunkReader } from "./chunk-reader.ts";
import {
  type Batch,
  batchOf,
  type Chunk,
  type Notice,
  type Replay,
  replayComplete,
  seenOf,
  streamRefused,
  unseenOf,
} from "./frame.ts";

export interface SubscribeRequest {
  /** The last event that the client has; null wants no past at all. */
  readonly after: number | null;
  /** Of the log that `after` belongs to; null takes it to be this one. */
  readonly epoch: string | null;
  /** How many frames may wait, if the client says so; the wire lets it choose. */
  readonly maxQueued?: number;
  /** The client that reads it, if it says so, and the user; null is the operator. */
  readonly clientId?: ClientId | null;
  readonly userId?: UserId | null;
  /** Whether the reader sees a session of this audience; without it the reader sees any. */
  readonly sees?: (audience: Audience) => boolean;
  /** The child whose events alone are wanted: the stream ends with it. */
  readonly childId?: ChildId;
  /** Makes a `session_snapshot`, which comes first, or right after the replay. */
  readonly snapshot?: () => Notice;
}

/** What a subscription begins with. */
interface SubscriptionStart extends SubscribeRequest {
  /** Events that are held back from it for now. */
  readonly heldIds: readonly number[];
}

/** How the server ended a stream: for its reader's sake, or for any other reason. */
export type StreamEnd = "evicted" | "ended";

export interface SubscriptionLog {
  readonly epoch: string;
  readonly tail: Tail;
  left(subscription: Subscription): unknown;
}

/**
 * One open stream of a session's events: first the stored past, if it is wanted, and then what is
 * published, without a gap and without a repeat (P3). It stands at a place of the shared tail and
 * reads on from there; if it falls too far behind it lets go of that place, so that it holds
 * nothing, and reads the store until it has caught up with a new one.
 *
 * It ends after a terminal frame that is published while it is open. One that it merely finds in
 * the past does not end it: the session may have been activated since, or may yet be.
 */
export class Subscription implements AsyncIterableIterator<Chunk, undefined> {
  readonly #owner: SubscriptionLog;
  readonly #source: PastSource;
  readonly #snapshot: (() => Notice) | undefined;
  readonly #sees: SubscribeRequest["sees"];
  readonly #childId: ChildId | null;
  readonly #reader = new ChunkReader(() => this.#take());
  readonly #backlog: Backlog;
  readonly #ending = Promise.withResolvers<StreamEnd>();
  /** The client that reads it; null if it does not say. */
  readonly clientId: ClientId | null;
  readonly userId: UserId | null;
  #cursor: number;
  /** The first event that is held back. */
  #heldFrom: number;
  /** Where it goes on in memory once `#catchUp` is done; null once that was too much to hold. */
  #place: TailNode | null;
  #catchUp: CatchUp | null;
  readonly #isReplay: boolean;
  #hasBegun = false;
  /** What is said where the past ends, before anything newer. */
  #due: readonly Notice[] = [];
  #notices: Notice[] = [];
  #endsAfter = Number.POSITIVE_INFINITY;
  #last: Notice | null = null;

  constructor(owner: SubscriptionLog, start: SubscriptionStart, source: PastSource) {
    const { after, epoch, maxQueued, snapshot, clientId = null } = start;
    this.#owner = owner;
    this.clientId = clientId;
    this.userId = start.userId ?? null;
    this.#source = source;
    this.#snapshot = snapshot;
    this.#sees = start.sees;
    this.#childId = start.childId ?? null;
    const { at } = owner.tail.end;
    this.#backlog = new Backlog(at, maxQueued);
    this.#isReplay = after !== null;
    const isForeign = epoch !== null && epoch !== owner.epoch;
    const isUpToDate = after === null || (after === at.id && !isForeign);
    this.#heldFrom = firstAfter(isForeign ? 0 : (after ?? at.id), start.heldIds);
    const until = Math.min(at.id, this.#heldFrom - 1);
    this.#place = until < at.id ? null : owner.tail.end;
    const stretch = { epoch: owner.epoch, after: after ?? at.id, until, isForeign };
    this.#catchUp = isUpToDate ? null : new CatchUp(source, stretch, this.#childId);
    this.#cursor = this.#catchUp?.cursor ?? at.id;
    if (isUpToDate) this.#begin({ replayedCount: 0, lastEventId: at.id });
  }

  /** Of the log that it tells. */
  get epoch(): string {
    return this.#owner.epoch;
  }

  /** Whether its reader sees a session of this audience. */
  isFor(audience: Audience): boolean {
    return this.#sees?.(audience) ?? true;
  }

  /** Resolves when nothing new will come; what still waits can be taken, if the client can. */
  get ending(): Promise<StreamEnd> {
    return this.#ending.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** All that waits, as soon as there is something. */
  next(): Promise<IteratorResult<Chunk, undefined>> {
    return this.#reader.next();
  }

  /** The client is gone, or its connection is: nothing else changes. */
  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel() {
    this.#leave();
    this.#reader.close();
  }

  /** Its place in the tail leads nowhere any more: the store has what follows. */
  letGo() {
    this.#place = null;
  }

  /** Something was published after `before`, and the tail has it. */
  published(before: TailPosition, nowMs: number) {
    this.#holdLess(before);
    if (this.#isEnding) return;
    if (this.#reader.isReading) return this.#reader.wake();
    const judgement = this.#backlog.judge(this.#owner.tail.end.at, this.#cursor, nowMs);
    if (judgement?.kind === "warn") this.tell(judgement.notice);
    if (judgement?.kind === "evict") this.#evict(judgement.notice);
  }

  /** Says something to this stream alone. If the reader does not come, the oldest is dropped. */
  tell(notice: Notice) {
    if (this.#notices.length === SUBSCRIBER_NOTICES_MAX) this.#notices.shift();
    this.#notices.push(notice);
    this.#reader.wake();
  }

  /** Gives nothing from the first of these events on that the reader has not been given yet. */
  hold(ids: readonly number[]) {
    this.#heldFrom = firstAfter(this.#cursor, ids);
    this.#reader.wake();
  }

  /** Whether the reader has been given this event. */
  hasGiven(id: number): boolean {
    return this.#catchUp === null && this.#cursor >= id;
  }

  /** This was a terminal frame: the stream ends with it, unless the client has had it before. */
  terminate(id: number) {
    if (id > this.#cursor) this.finish(id);
  }

  /** Nothing follows after this event; up to there it is still served, from the store too. */
  finish(id: number) {
    this.#endsAfter = Math.min(this.#endsAfter, id);
    this.#ending.resolve("ended");
    this.#reader.wake();
  }

  /** Ends it with what is in memory and a last word. Nothing more is read from the store. */
  end(last: Notice | null) {
    this.#heldFrom = Number.POSITIVE_INFINITY;
    const hasAll = this.#place !== null && this.#catchUp === null;
    if (hasAll && this.#isEnding) return; // Its own end is in memory, and comes anyway.
    this.#last ??= last;
    if (hasAll) this.finish(this.#owner.tail.end.at.id);
    else this.#stop();
  }

  get #isEnding(): boolean {
    return this.#endsAfter !== Number.POSITIVE_INFINITY;
  }

  get #isAtEnd(): boolean {
    return this.#catchUp === null && this.#cursor >= this.#endsAfter;
  }

  /** The last event that it may be given now. */
  get #through(): number {
    return Math.min(this.#endsAfter, this.#heldFrom - 1);
  }

  #take(): Chunk | null | Promise<Chunk | null> {
    if (this.#isAtEnd) return this.#given(this.#takeDue());
    if (this.#place === null && this.#catchUp === null) this.#findPlace();
    if (this.#catchUp !== null) return this.#takeStored(this.#catchUp);
    const batches = this.#takeDue();
    if (this.#place !== null) this.#takeLive(this.#place, batches);
    return this.#given(batches);
  }

  #takeDue(): Batch[] {
    const due = this.#due;
    this.#due = [];
    return due.length === 0 ? [] : [batchOf(due)];
  }

  #takeLive(from: TailNode, batches: Batch[]) {
    let place = from;
    const through = this.#through;
    while (place.entry !== null && !this.#isAtEnd && mayLeave(place, through, this.#endsAfter)) {
      const { batch, next } = place.entry;
      const isWhole = next.at.id <= through;
      const unseen = unseenOf(isWhole ? batch : seenOf(batch, through), this.#cursor);
      const part = unseen && this.#partOf(unseen);
      if (part !== null) batches.push(part);
      this.#cursor = Math.max(this.#cursor, isWhole ? next.at.id : through);
      if (!isWhole) break;
      place = next;
    }
    this.#place = place;
  }

  /** What of a batch this stream is about. */
  #partOf(batch: Batch): Batch | null {
    if (this.#childId === null) return batch;
    const { part, endId } = childPart(batch, this.#childId);
    if (endId !== null) this.finish(endId);
    return part;
  }

  async #takeStored(catchUp: CatchUp): Promise<Chunk | null> {
    const read = await catchUp.read();
    if (this.#catchUp !== catchUp) return this.#take(); // It was ended meanwhile.
    if (!read.ok) {
      this.end(streamRefused(read.refusal));
      return this.#take();
    }
    const batches = this.#takeDue();
    batches.push(...read.value);
    this.#cursor = catchUp.cursor;
    if (catchUp.endId !== null) this.finish(catchUp.endId);
    if (catchUp.isDone) this.#caughtUp(catchUp);
    batches.push(...this.#takeDue());
    return this.#given(batches);
  }

  /** Everything but the frames themselves that belongs into what the reader gets now. */
  #given(batches: Batch[]): Chunk | null {
    const { at } = this.#owner.tail.end;
    this.#backlog.taken(at, this.#catchUp === null && this.#cursor >= at.id);
    if (this.#notices.length > 0) batches.push(batchOf(this.#notices));
    this.#notices = [];
    if (!this.#isAtEnd) return batches;
    if (this.#last !== null) batches.push(batchOf([this.#last]));
    this.#last = null;
    this.#leave();
    return batches.length === 0 ? null : batches;
  }

  #caughtUp({ count, cursor }: CatchUp) {
    this.#catchUp = null;
    if (this.#hasBegun) return;
    const last = count > 0 ? { lastReplayedEventId: cursor } : {};
    this.#begin({ replayedCount: count, ...last, lastEventId: cursor });
  }

  /** A stream that asked for no past has no replay to complete. */
  #begin(replay: Replay) {
    this.#hasBegun = true;
    const complete = this.#isReplay ? [replayComplete(replay)] : [];
    this.#due = this.#snapshot === undefined ? complete : [...complete, this.#snapshot()];
  }

  /**
   * Picks the tail up again at its end, and the store has what lies before. A stream that is held
   * has no place there: it would miss what is held.
   */
  #findPlace() {
    const { epoch, tail } = this.#owner;
    const { id } = tail.end.at;
    this.#place = this.#heldFrom <= id ? null : tail.end;
    const until = Math.min(id, this.#through);
    const stretch = { epoch, after: this.#cursor, until, isForeign: false };
    if (until > this.#cursor) this.#catchUp = new CatchUp(this.#source, stretch, this.#childId);
  }

  /**
   * Lets go of the tail when too much hangs on it. What was there before the last publication
   * counts, and not that one itself: a reader that had taken everything never has to let go.
   */
  #holdLess({ id, bytes }: TailPosition) {
    if (this.#place === null) return;
    const { at } = this.#place;
    const isMuch = id - at.id > TAIL_HELD_FRAMES_MAX || bytes - at.bytes > TAIL_HELD_BYTES_MAX;
    if (isMuch) this.#place = null;
  }

  /** Too much waits for it: it is dropped, and the client is told where it can go on. */
  #evict(last: Notice) {
    this.#notices = [];
    this.#last = last;
    this.#ending.resolve("evicted");
    this.#stop();
    this.#leave();
  }

  /** Drops what has not been taken. */
  #stop() {
    this.#catchUp = null;
    this.#place = null;
    this.finish(this.#cursor);
  }

  #leave() {
    this.#place = null;
    this.#ending.resolve("ended");
    this.#owner.left(this);
  }
}

function firstAfter(cursor: number, ids: readonly number[]): number {
  return Math.min(...ids.filter((id) => id > cursor));
}

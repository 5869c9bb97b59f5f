import type { ChildId } from "../../core/id.ts";
import {
  SUBSCRIBER_PAGE_FRAMES_MAX,
  SUBSCRIBER_QUEUE_BYTES_MAX,
  SUBSCRIBER_QUEUE_FRAMES_MAX,
  SUBSCRIBER_STALL_MS,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { EventPage, StoredText } from "../../store/store.ts";
import { childPart } from "./child-part.ts";
import {
  type Batch,
  batchOf,
  type Chunk,
  clientEvicted,
  frameOf,
  type Notice,
  type QueueState,
  type Resync,
  resyncRequired,
  slowClientWarning,
  type Threshold,
} from "./frame.ts";

/** The stored past of one session: the store's `readEvents` with its key filled in. */
export interface PastSource {
  readPast(after: number, limit: number): Promise<Result<EventPage>>;
}

/** Which part of which log is to be read. */
export interface Stretch {
  /** The identity of the log that the bus speaks of. */
  readonly epoch: string;
  /** The last event that the client has, by its own account. */
  readonly after: number;
  /** The last event to be read; what follows is in memory. Never beyond what was published. */
  readonly until: number;
  /** The client's cursor belongs to another log, so it means nothing in this one. */
  readonly isForeign: boolean;
}

/**
 * Reads the log from a cursor to where the live tail was picked up, a page at a time and only when
 * the reader asks, so that nothing has to be held for it however far it is behind. Where the log
 * cannot be continued exactly it says so first (P3).
 *
 * The wire's `replay_budget_exceeded` has no place here: upstream puts a replay together in memory
 * and has to stop at 8 MiB, while ours goes on as the reader takes it.
 */
export class CatchUp {
  readonly #source: PastSource;
  readonly #stretch: Stretch;
  readonly #childId: ChildId | null;
  #endId: number | null = null;
  #cursor: number;
  #isDoubtful: boolean;
  #count = 0;

  /** With a child, what is read is about that one, and nothing is read after its end. */
  constructor(source: PastSource, stretch: Stretch, childId: ChildId | null = null) {
    this.#childId = childId;
    this.#source = source;
    this.#stretch = stretch;
    this.#cursor = stretch.isForeign ? 0 : stretch.after;
    this.#isDoubtful = stretch.isForeign || stretch.after > stretch.until;
  }

  /** The last event read, or given up as no longer there. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Where the child ended, if that has been read. */
  get endId(): number | null {
    return this.#endId;
  }

  /** How many of the events that were read are given to the reader. */
  get count(): number {
    return this.#count;
  }

  get isDone(): boolean {
    const hasAll = this.#endId !== null || this.#cursor >= this.#stretch.until;
    return !this.#isDoubtful && hasAll;
  }

  /** The next page, with what has to be said before it. */
  async read(): Promise<Result<Chunk>> {
    const { epoch, until } = this.#stretch;
    const limit = Math.min(Math.max(until - this.#cursor, 1), SUBSCRIBER_PAGE_FRAMES_MAX);
    const page = await this.#source.readPast(this.#cursor, limit);
    if (!page.ok) return page;
    if (page.value.epoch !== epoch) return fail("writer_lost");
    const asked = this.#cursor;
    const resync = this.#resyncOf(page.value);
    const batches: Batch[] = resync === null ? [] : [batchOf([resyncRequired(resync)])];
    // A cursor that was set back wants another page than the one that was read for it.
    if (this.#cursor < asked || this.isDone) return ok(batches);
    const batch = this.#take(page.value.events);
    if (!batch.ok) return batch;
    if (batch.value !== null) batches.push(batch.value);
    return ok(batches);
  }

  /** Moves the cursor to where the log can be read on, and says why, if it had to. */
  #resyncOf({ earliestEventId, lastEventId }: EventPage): Resync | null {
    const { after, until, isForeign } = this.#stretch;
    // What lies behind `until` is in memory, even if the store has trimmed it.
    const earliestAvailableId = Math.min(earliestEventId, until + 1);
    const isReset = this.#isDoubtful && (isForeign || after > lastEventId);
    // A client may have learnt from an answer of what is durable and not published yet; then its
    // cursor is ahead of the stream, and right. Only one that is ahead of the log is not.
    this.#isDoubtful = false;
    if (isReset) {
      this.#cursor = earliestAvailableId - 1;
      const detail = isForeign ? ({ detail: "epoch_mismatch" } as const) : {};
      return { reason: "epoch_reset", ...detail, lastDeliveredId: after, earliestAvailableId };
    }
    if (earliestAvailableId <= this.#cursor + 1) return null;
    const lastDeliveredId = this.#cursor;
    this.#cursor = earliestAvailableId - 1;
    const isAllGone = earliestAvailableId > until;
    const reason = isAllGone ? "seeded_replay_not_in_ring" : "ring_evicted";
    return { reason, lastDeliveredId, earliestAvailableId };
  }

  #take(events: readonly StoredText[]): Result<Batch | null> {
    const taken = events.slice(0, this.#stretch.until - this.#cursor);
    const isWhole =
      taken[0]?.id === this.#cursor + 1 && taken.at(-1)?.id === this.#cursor + taken.length;
    if (!isWhole) {
      return fail("session_corrupt", { reason: `event ${this.#cursor + 1} is missing` });
    }
    this.#cursor += taken.length;
    const batch = batchOf(taken.map(frameOf));
    const part = this.#childId === null ? batch : this.#partOf(batch, this.#childId);
    this.#count += part?.frames.length ?? 0;
    return ok(part);
  }

  #partOf(batch: Batch, childId: ChildId): Batch | null {
    const { part, endId } = childPart(batch, childId);
    this.#endId = endId;
    return part;
  }
}

/** The wire warns when three quarters of a queue are taken. */
const WARNING_SHARE = 0.75;

/** What a backlog comes to: nothing, something to tell the reader, or the end of its stream. */
export type Judgement = { readonly kind: "warn" | "evict"; readonly notice: Notice } | null;

/**
 * How far a reader is behind: what was published since it last took something. Replay, and what
 * is handed to a reader that is asking, does not count.
 *
 * The wire's figures (256 frames, 2 MiB) say when too much waits. Upstream evicts at that moment,
 * and so also a fast reader that met a burst while its socket was draining. Here what waits lies
 * in the log, so there is no need to hurry: a stream is ended only if too much waits and the
 * oldest of it has waited for SUBSCRIBER_STALL_MS, which is a reader that has stopped and not one
 * that is late. A reader that takes too little, but goes on taking, reads the store instead.
 */
export class Backlog {
  readonly #framesMax: number;
  #taken: TailPosition;
  #sinceMs: number | null = null;
  #isWarned = false;

  constructor(at: TailPosition, maxQueued: number | undefined) {
    this.#taken = at;
    this.#framesMax = maxQueued ?? SUBSCRIBER_QUEUE_FRAMES_MAX;
  }

  /**
   * The reader took what there was. The wire re-arms its warning when 37.5 % of the queue are
   * left; a reader that has caught up has left nothing, and one that has not is in the same
   * episode still.
   */
  taken(at: TailPosition, hasCaughtUp: boolean) {
    this.#taken = at;
    this.#sinceMs = null;
    if (hasCaughtUp) this.#isWarned = false;
  }

  /** Something was published up to here while the reader was busy elsewhere. */
  judge(at: TailPosition, cursor: number, nowMs: number): Judgement {
    this.#sinceMs ??= nowMs;
    const frames = at.id - this.#taken.id;
    const bytes = at.bytes - this.#taken.bytes;
    const isOver = frames > this.#framesMax || bytes > SUBSCRIBER_QUEUE_BYTES_MAX;
    if (isOver && nowMs - this.#sinceMs >= SUBSCRIBER_STALL_MS) {
      const reason = frames > this.#framesMax ? "queue_overflow" : "queue_bytes_overflow";
      const queue = this.#stateOf(frames, bytes);
      return { kind: "evict", notice: clientEvicted({ reason, droppedAfter: cursor, ...queue }) };
    }
    const threshold = this.#isWarned ? null : this.#thresholdOf(frames, bytes);
    if (threshold === null) return null;
    this.#isWarned = true;
    const warning = { ...this.#stateOf(frames, bytes), lastEventId: at.id, threshold };
    return { kind: "warn", notice: slowClientWarning(warning) };
  }

  #thresholdOf(frames: number, bytes: number): Threshold | null {
    const isManyFrames = frames >= WARNING_SHARE * this.#framesMax;
    const isManyBytes = bytes >= WARNING_SHARE * SUBSCRIBER_QUEUE_BYTES_MAX;
    if (isManyFrames && isManyBytes) return "frames_and_bytes";
    if (isManyFrames) return "frames";
    return isManyBytes ? "bytes" : null;
  }

  #stateOf(queueSize: number, queuedBytes: number): QueueState {
    const [maxQueued, maxQueuedBytes] = [this.#framesMax, SUBSCRIBER_QUEUE_BYTES_MAX];
    return { queueSize, maxQueued, queuedBytes, maxQueuedBytes };
  }
}

/** A place in everything that was published: after which event, and after how many bytes. */
export interface TailPosition {
  readonly id: number;
  readonly bytes: number;
}

/** A place in the tail, and what was published there, once something was. */
export interface TailNode {
  readonly at: TailPosition;
  entry: { readonly batch: Batch; readonly next: TailNode } | null;
}

/**
 * Whether what was published at this place may go out to a stream that has events up to `through`
 * for now. What has no number waits for no event that comes after it; nothing follows the end.
 */
export function mayLeave({ at, entry }: TailNode, through: number, endsAfter: number): boolean {
  const isUnnumbered = entry?.next.at.id === at.id;
  return at.id < through || (isUnnumbered && at.id < endsAfter);
}

/**
 * What was published lately, as a chain that only leads forward. The bus keeps nothing but its
 * empty end; what lies before it lives exactly as long as some subscriber still stands there. So
 * publishing costs the same for one subscriber as for many, nothing is copied, and a session that
 * all subscribers have read holds no frames at all.
 */
export class Tail {
  #end: TailNode;

  constructor(publishedThrough: number) {
    this.#end = { at: { id: publishedThrough, bytes: 0 }, entry: null };
  }

  /** Where the next batch will be: a subscriber that stands here has caught up. */
  get end(): TailNode {
    return this.#end;
  }

  push(batch: Batch, lastId: number) {
    const at = { id: lastId, bytes: this.#end.at.bytes + batch.bytes };
    const next: TailNode = { at, entry: null };
    this.#end.entry = { batch, next };
    this.#end = next;
  }

  /** Goes on at another event. Who stands before it gets there only by way of the store. */
  skipTo(id: number) {
    this.#end = { at: { id, bytes: this.#end.at.bytes }, entry: null };
  }
}

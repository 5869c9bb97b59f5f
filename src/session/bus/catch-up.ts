import { SUBSCRIBER_PAGE_FRAMES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { EventPage, StoredText } from "../../store/store.ts";
import { type Batch, batchOf, type Chunk, frameOf } from "./frame.ts";
import { type Resync, resyncRequired } from "./notice.ts";

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
  #cursor: number;
  #isDoubtful: boolean;
  #count = 0;

  constructor(source: PastSource, stretch: Stretch) {
    this.#source = source;
    this.#stretch = stretch;
    this.#cursor = stretch.isForeign ? 0 : stretch.after;
    this.#isDoubtful = stretch.isForeign || stretch.after > stretch.until;
  }

  /** The last event read, or given up as no longer there. */
  get cursor(): number {
    return this.#cursor;
  }

  get count(): number {
    return this.#count;
  }

  get isDone(): boolean {
    return !this.#isDoubtful && this.#cursor >= this.#stretch.until;
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
    batches.push(batch.value);
    return ok(batches);
  }

  /** Moves the cursor to where the log can be read on, and says why, if it had to. */
  #resyncOf({ earliestEventId, lastEventId }: EventPage): Resync | null {
    const { after, until, isForeign } = this.#stretch;
    // What lies behind `until` is in memory, whatever the store has trimmed.
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

  #take(events: readonly StoredText[]): Result<Batch> {
    const taken = events.slice(0, this.#stretch.until - this.#cursor);
    const isWhole =
      taken[0]?.id === this.#cursor + 1 && taken.at(-1)?.id === this.#cursor + taken.length;
    if (!isWhole) {
      return fail("session_corrupt", { reason: `event ${this.#cursor + 1} is missing` });
    }
    this.#cursor += taken.length;
    this.#count += taken.length;
    return ok(batchOf(taken.map(frameOf)));
  }
}

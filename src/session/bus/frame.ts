import { errorBody, type Refusal } from "../../core/error.ts";
import type { ChildId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { StoredText } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";

/** One event of the log. Its text is the stored one, and every subscriber is sent the same. */
export interface Frame {
  readonly id: number;
  readonly text: string;
  readonly bytes: number;
  /** The event's type, where that is known without a look into the text; then so is its child. */
  readonly type?: string;
  /** The child that it is about, if it is about one. */
  readonly childId?: ChildId;
}

/** Something that a stream is told and that is not in the log: it has no number, no replay. */
export interface Notice {
  readonly id: null;
  readonly text: string;
  readonly bytes: number;
  readonly type?: string;
}

/**
 * What goes out together. All subscribers that have caught up are handed the very same batch, so
 * the writer of sockets can encode it once and keep the bytes beside it, in a WeakMap.
 */
export interface Batch {
  readonly frames: readonly (Frame | Notice)[];
  readonly bytes: number;
}

/** Everything that waits for one reader when it comes: one wake-up, one write. */
export type Chunk = readonly Batch[];

export function frameOf({ id, text }: StoredText): Frame {
  return { id, text, bytes: Buffer.byteLength(text) };
}

/** An event that has just become durable. */
export function liveFrame({ id, text, bytes, event: { type, childId } }: Written): Frame {
  const about = { id, text, bytes, type };
  return childId === undefined ? about : { ...about, childId };
}

export function batchOf(frames: readonly (Frame | Notice)[]): Batch {
  let bytes = 0;
  for (const frame of frames) bytes += frame.bytes;
  return { frames, bytes };
}

/** What of a batch comes after the cursor; the batch itself where that is all of it. */
export function unseenOf(batch: Batch, cursor: number): Batch | null {
  const first = batch.frames[0];
  if (first === undefined || first.id === null || first.id > cursor) return batch;
  const rest = batch.frames.slice(cursor - first.id + 1);
  return rest.length === 0 ? null : batchOf(rest);
}

/** What of a batch of events comes up to this one. */
export function seenOf({ frames }: Batch, through: number): Batch {
  return batchOf(frames.filter(({ id }) => id === null || id <= through));
}

/** The frames that the wire calls synthetic: no id, and for one stream only. */

export function notice(type: string, data: JsonObject): Notice {
  const text = JSON.stringify({ v: 1, type, data });
  return { id: null, text, bytes: Buffer.byteLength(text), type };
}

/** An event that is sent a second time, without its number, so that no reader counts it twice. */
export function repeatOf(text: string): Notice {
  const { id: _id, ...event } = JSON.parse(text);
  const again = JSON.stringify({ ...event, _meta: { ...event._meta, repeated: true } });
  return { id: null, text: again, bytes: Buffer.byteLength(again) };
}

export interface Replay {
  readonly replayedCount: number;
  readonly lastReplayedEventId?: number;
  /** Where the log ended when the subscription began. */
  readonly lastEventId?: number;
}

export function replayComplete(replay: Replay): Notice {
  return notice("replay_complete", { ...replay });
}

/** Why a cursor cannot be continued exactly. We never cut a replay short by its size. */
type ResyncReason = "epoch_reset" | "ring_evicted" | "seeded_replay_not_in_ring";

export interface Resync {
  readonly reason: ResyncReason;
  readonly detail?: "epoch_mismatch";
  readonly lastDeliveredId: number;
  readonly earliestAvailableId: number;
}

export function resyncRequired(resync: Resync): Notice {
  return notice("state_resync_required", { ...resync });
}

/** How much waits for a subscriber, and how much may. */
export interface QueueState {
  readonly queueSize: number;
  readonly maxQueued: number;
  readonly queuedBytes: number;
  readonly maxQueuedBytes: number;
}

export type Threshold = "frames" | "bytes" | "frames_and_bytes";

export function slowClientWarning(
  queue: QueueState & { readonly lastEventId: number; readonly threshold: Threshold },
): Notice {
  return notice("slow_client_warning", { ...queue });
}

export function clientEvicted(
  eviction: QueueState & {
    readonly reason: "queue_overflow" | "queue_bytes_overflow";
    /** The last event that the reader took: it goes on from there when it comes back. */
    readonly droppedAfter: number;
  },
): Notice {
  return notice("client_evicted", { ...eviction });
}

/** Something failed on our side; `errorKind` is the code of docs/errors.md, or a cause. */
export function streamError(error: string, errorKind: string): Notice {
  return notice("stream_error", { error, errorKind });
}

export function streamRefused(why: Refusal): Notice {
  return streamError(`${errorBody(why).error}`, why.code);
}

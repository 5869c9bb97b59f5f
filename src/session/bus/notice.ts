import { errorBody, type Refusal } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Notice } from "./frame.ts";

/** The frames that the wire calls synthetic: no id, and for one stream only. */

export function notice(type: string, data: JsonObject): Notice {
  const text = JSON.stringify({ v: 1, type, data });
  return { id: null, text, bytes: Buffer.byteLength(text) };
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

import {
  SUBSCRIBER_QUEUE_BYTES_MAX,
  SUBSCRIBER_QUEUE_FRAMES_MAX,
  SUBSCRIBER_STALL_MS,
} from "../../core/limits.ts";
import type { Notice } from "./frame.ts";
import { clientEvicted, type QueueState, slowClientWarning, type Threshold } from "./notice.ts";
import type { Position } from "./tail.ts";

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
  #taken: Position;
  #sinceMs: number | null = null;
  #isWarned = false;

  constructor(at: Position, maxQueued: number | undefined) {
    this.#taken = at;
    this.#framesMax = maxQueued ?? SUBSCRIBER_QUEUE_FRAMES_MAX;
  }

  /**
   * The reader took what there was. The wire re-arms its warning when 37.5 % of the queue are
   * left; a reader that has caught up has left nothing, and one that has not is in the same
   * episode still.
   */
  taken(at: Position, hasCaughtUp: boolean) {
    this.#taken = at;
    this.#sinceMs = null;
    if (hasCaughtUp) this.#isWarned = false;
  }

  /** Something was published up to here while the reader was busy elsewhere. */
  judge(at: Position, cursor: number, nowMs: number): Judgement {
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

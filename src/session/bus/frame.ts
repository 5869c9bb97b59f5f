import type { StoredText } from "../../store/store.ts";

/** One event of the log. Its text is the stored one, and every subscriber is sent the same. */
export interface Frame {
  readonly id: number;
  readonly text: string;
  readonly bytes: number;
}

/** Something that a stream is told and that is not in the log: it has no number, no replay. */
export interface Notice {
  readonly id: null;
  readonly text: string;
  readonly bytes: number;
}

/**
 * What goes out together. All subscribers that have caught up are handed the very same batch, so
 * whoever writes to sockets can encode it once and keep the bytes beside it, in a WeakMap.
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

import type { Batch } from "../../session/bus/frame.ts";
import { sseFrame } from "../../wire/sse.ts";

const known = new WeakMap<Batch, Buffer>();

/**
 * What goes to a socket for a batch. All subscribers that keep up are handed the same batch, so it
 * is encoded once, and the bytes live as long as somebody has the batch.
 */
export function batchBytes(batch: Batch): Buffer {
  const written = known.get(batch);
  if (written !== undefined) return written;
  const bytes = Buffer.from(batch.frames.map(({ id, text }) => sseFrame(id, text)).join(""));
  known.set(batch, bytes);
  return bytes;
}

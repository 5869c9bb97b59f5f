import type { ChildId } from "../../core/id.ts";
import { type Batch, batchOf, type Frame, type Notice } from "./frame.ts";

/** What of a batch is about one child. */
interface ChildBatch {
  /** The batch itself where that is all of it; null where nothing is. */
  readonly part: Batch | null;
  /** The end of the child, if the batch has it: nothing after that is about it any more. */
  readonly endId: number | null;
}

/** Streams of the same child get the same part, so its bytes are shared as those of a batch are. */
const known = new WeakMap<Batch, Map<ChildId, ChildBatch>>();

/** What the streams of one child are given of what is published: its events, up to its end. */
export function childPart(batch: Batch, childId: ChildId): ChildBatch {
  const parts = known.get(batch) ?? new Map<ChildId, ChildBatch>();
  known.set(batch, parts);
  const part = parts.get(childId) ?? partOf(batch, childId);
  parts.set(childId, part);
  return part;
}

function partOf(batch: Batch, childId: ChildId): ChildBatch {
  const frames: (Frame | Notice)[] = [];
  for (const frame of batch.frames) {
    const type = frame.id === null ? "notice" : typeAbout(frame, childId);
    if (type === null) continue;
    frames.push(frame);
    if (type === "child_session_ended") return { part: batchOf(frames), endId: frame.id };
  }
  const isWhole = frames.length === batch.frames.length;
  const part = isWhole ? batch : batchOf(frames);
  return { part: frames.length === 0 ? null : part, endId: null };
}

/** The type of an event that is about this child; null for any other event. */
function typeAbout({ text, type, childId: known }: Frame, childId: ChildId): string | null {
  if (type !== undefined) return known === childId ? type : null;
  // A stored one is looked into only if it has the id somewhere.
  if (!text.includes(childId)) return null;
  const event: { readonly type: string; readonly childId?: string } = JSON.parse(text);
  return event.childId === childId ? event.type : null;
}

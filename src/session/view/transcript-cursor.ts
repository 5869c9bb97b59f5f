import type { SessionId } from "../../core/id.ts";

/**
 * A place in a session's history, from which a page is read. Forward it ends where the history
 * ended when the reading began, so that who reads comes to an end.
 */
export type TranscriptPlace =
  | { readonly direction: "forward"; readonly after: number; readonly through: number }
  | { readonly direction: "backward"; readonly before: number };

/** A place, and the log that it is a place in. */
export interface TranscriptCursor {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly place: TranscriptPlace;
}

export function writeTranscriptCursor({ sessionId, epoch, place }: TranscriptCursor): string {
  const numbers = place.direction === "forward" ? [place.after, place.through] : [place.before];
  const parts = [sessionId, epoch, place.direction, ...numbers];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** Null if it is none of this session's: what we would not have written is not read either. */
export function readTranscriptCursor(text: string, sessionId: SessionId): TranscriptCursor | null {
  const parts = partsOf(text);
  if (!Array.isArray(parts)) return null;
  const [, epoch, direction, first, second]: readonly unknown[] = parts;
  const place = placeOf(direction, first, second);
  if (typeof epoch !== "string" || place === null) return null;
  const cursor = { sessionId, epoch, place };
  return writeTranscriptCursor(cursor) === text ? cursor : null;
}

function placeOf(direction: unknown, first: unknown, second: unknown): TranscriptPlace | null {
  if (!isEventId(first)) return null;
  if (direction === "backward") return { direction, before: first };
  if (direction === "forward" && isEventId(second)) {
    return { direction, after: first, through: second };
  }
  return null;
}

function isEventId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function partsOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return null;
  }
}

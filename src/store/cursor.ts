import type { Place } from "./backend.ts";
import { isId } from "./record.ts";

export function writeCursor({ updatedAtMs, sessionId }: Place): string {
  return Buffer.from(JSON.stringify([updatedAtMs, sessionId])).toString("base64url");
}

/** Null if it is not one of ours: what we would not have written ourselves is not read either. */
export function readCursor(cursor: string): Place | null {
  try {
    const [updatedAtMs, sessionId] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (!Number.isSafeInteger(updatedAtMs) || !isId(sessionId)) return null;
    const place = { updatedAtMs, sessionId };
    return writeCursor(place) === cursor ? place : null;
  } catch {
    return null;
  }
}

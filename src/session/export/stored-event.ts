import { refusal } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { FoldedTurn, StoredText } from "../../store/store.ts";
import { ExportBroken, parsed } from "./source.ts";

/** The events of a folded turn. */
export function turnEvents({ lastId, text }: FoldedTurn): readonly LogEvent[] {
  const what = `the turn that ended with event ${lastId}`;
  const events = parsed(text, what);
  if (!Array.isArray(events) || !events.every(isLogEvent)) throw notEvents(what);
  return events;
}

export function storedEvent({ id, text }: StoredText): LogEvent {
  const event = parsed(text, `event ${id}`);
  if (!isLogEvent(event)) throw notEvents(`event ${id}`);
  return event;
}

/** The envelope is looked at; what is in it was ours when we wrote it, under a checksum. */
function isLogEvent(value: unknown): value is LogEvent {
  if (!isObject(value) || !isObject(value.data) || !isObject(value._meta)) return false;
  const { serverTimestamp } = value._meta;
  return typeof value.type === "string" && typeof serverTimestamp === "number";
}

function notEvents(what: string): ExportBroken {
  return new ExportBroken(refusal("session_corrupt", { reason: `${what} cannot be read` }));
}

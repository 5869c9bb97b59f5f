import type { SessionId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import { eventIs } from "../../core/session/event-table.ts";

/** What a fork has of a folded turn, in its own name and numbered on from where its log ends. */
export function copiedEvents(
  turn: readonly LogEvent[],
  sessionId: SessionId,
  firstId: number,
): readonly LogEvent[] {
  const copied = turn.filter((event) => eventIs(event, "copied"));
  return copied.map((event, index) => inSession(event, sessionId, firstId + index));
}

function inSession<Event extends LogEvent>(event: Event, sessionId: SessionId, id: number): Event {
  return { ...event, id, data: { ...event.data, sessionId } };
}

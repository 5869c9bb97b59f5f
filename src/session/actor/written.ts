import type { LogEvent } from "../../core/replay/compact.ts";
import type { SessionEvent } from "../../core/session/event.ts";

/** An event with its number, and the one text of it that is stored and sent to everybody. */
export interface Written {
  readonly id: number;
  readonly event: LogEvent;
  readonly text: string;
}

/** Numbers events and serialises each once. */
export function writeEvents(events: readonly SessionEvent[], firstId: number): readonly Written[] {
  return events.map((event, index) => {
    const id = firstId + index;
    const numbered = { id, ...event };
    return { id, event: numbered, text: JSON.stringify(numbered) };
  });
}

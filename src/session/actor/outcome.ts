import type { Refusal } from "../../core/error.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import type { FirstAnswer } from "../../core/session/state.ts";

/** What a command came to, told when everything that it rests on is durable (P1). */
export interface Outcome {
  readonly refusal: Refusal | null;
  readonly answer: FirstAnswer | null;
  /** Whether it has changed anything, and what. */
  readonly isNews: boolean;
  readonly events: readonly SessionEvent[];
  readonly lastEventId: number;
}

/** What the session was told of a change, if the command has made one. */
export function changeIn<Type extends EventType>(
  { events }: Pick<Outcome, "events">,
  type: Type,
): SessionEvent<Type>["data"] | null {
  const isOfType = (event: SessionEvent): event is SessionEvent<Type> & SessionEvent =>
    event.type === type;
  return events.find(isOfType)?.data ?? null;
}

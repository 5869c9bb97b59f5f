import type { SessionId } from "../../id.ts";
import type { CommandResult } from "../../session/event.ts";
import { done } from "./answer.ts";

/** `/new`: the one in which it was said stays as it is. */
export function sessionCreated(sessionId: SessionId): CommandResult {
  return done("session_created", `A new session was made: ${sessionId}`, { sessionId });
}

/** What `/save-and-close` leaves behind. */
export interface Saved {
  readonly persisted: boolean;
  readonly turnsDrained: number;
  /** Where the session is stored, in words that its store has for it. */
  readonly location: string;
}

export function sessionSaved({ persisted, turnsDrained, location }: Saved): CommandResult {
  const turns = turnsDrained === 1 ? "1 turn was" : `${turnsDrained} turns were`;
  const message = persisted
    ? `The session is saved (${location}); ${turns} finished first. It closes now.`
    : `The session has nothing that needs saving; ${turns} finished first. It closes now.`;
  return done("session_saved", message, { persisted, turnsDrained, location });
}

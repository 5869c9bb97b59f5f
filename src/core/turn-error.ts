import { ERRORS } from "./error.ts";

/** Why a prompt ended in `turn_error`, when we ended it. Agents bring codes of their own. */
export const TURN_ERRORS = {
  channel_closed: "The agent exited during the turn.",
  session_closed: "The session was closed.",
  session_killed: "The session was ended by the server.",
  daemon_shutdown: "The server is shutting down.",
  prompt_deadline_exceeded: "The prompt's deadline passed.",
  cancel_ignored: "The agent did not stop when it was told to, and was ended.",
  budget_exhausted: "The credits for this turn are used up.",
  turn_too_large: "The turn grew past its size limit.",
  snapshot_too_large: "The turn is too large to be stored as part of the conversation.",
  agent_unavailable: "The agent could not be started.",
  unknown_command: "There is no such command.",
  policy_forbids: "The tenant's policy forbids this prompt in this session.",
  prompt_denied: "An extension of the session did not let the prompt begin.",
  SERVER_RESTART: "The session was interrupted by a server restart.",
  STORE_FAILURE: "The session was interrupted by a failure of its store.",
} as const;

export type TurnErrorCode = keyof typeof TURN_ERRORS;

/**
 * Why a turn failed, for the history that a later agent gets: without the hints and the error
 * output in the sentence for people. An agent's own message when it refused the turn stays.
 */
export function turnErrorFact(code: string, message: string): string {
  const known: Readonly<Record<string, string>> = TURN_ERRORS;
  if (Object.hasOwn(known, code)) return known[code] ?? "";
  return Object.hasOwn(ERRORS, code) ? "The agent could not take the prompt." : message;
}

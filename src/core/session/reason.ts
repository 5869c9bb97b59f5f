import type { AgentStatus } from "../status.ts";

/** Why a session's status changed. */
export type StatusCause =
  | AgentStatus
  | EndReason
  | "activate"
  | "prompt"
  | "verdict"
  | "agent_exit"
  | "change_agent"
  | "change_cwd";

/** Ways in which the server lets an instance go; the session stays addressable. */
export type StopReason = (typeof STOP_REASONS)[number];

export const STOP_REASONS = [
  "daemon_shutdown",
  "last_client_detached",
  "idle_timeout",
  "evicted",
  "killed",
] as const;

/** Why a live instance ended. Only `client_close` also ends the session for its clients. */
export type EndReason = (typeof END_REASONS)[number];

const END_REASONS = [...STOP_REASONS, "client_close", "crash", "store_failure"] as const;

export function isEndReason(cause: StatusCause): cause is EndReason {
  return END_REASONS.some((reason) => reason === cause);
}

/** Why the server stopped a running turn before the agent had finished. */
export type StopCause = "client" | "deadline" | "budget" | "turn_too_large";

/** What the signal of an ask says if its agent took the ask back itself, and goes on. */
export const WITHDRAWN = "withdrawn";

/** What it says if the agent wanted a page opened, and is done with that page. */
export const COMPLETED = "completed";

/** How an ask ended. The wire does not tell these apart; the log and the audit do. */
export type AskEnd =
  | "vote"
  | "timeout"
  | "turn_cancelled"
  | "turn_ended"
  /** Its agent took it back, and goes on without an answer. */
  | typeof WITHDRAWN
  | typeof COMPLETED
  | "agent_gone"
  /** No user may decide it, present or absent, and no owner of the tenant either. */
  | "no_voter"
  | "session_closed"
  /** The child that asked has ended before it was answered. */
  | "child_ended"
  | "SERVER_RESTART"
  | "STORE_FAILURE";

/**
 * How a turn ended, as `SessionTurnEnd` says it. Only `completed` and `cancelled` turns enter the
 * conversation. An abandoned turn has no `SessionTurnEnd`: its session was closed under it.
 */
export type TurnOutcome = "completed" | "cancelled" | "failed";

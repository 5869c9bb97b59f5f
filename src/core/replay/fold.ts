import type { EventType } from "../session/event.ts";

/**
 * How an event folds when its turn is over. A finished turn is replayed by what came of it, so
 * that a replay grows with the turns of a session and not with its tokens.
 *
 * - `keep`: stands as it is.
 * - `latest`: one per turn and kind, in the place of the first, with the content of the last.
 * - `drop`: told those who were there, and means nothing to who comes later.
 * - `boundary`: kept, and closes the turn.
 */
export type Fold = "keep" | "latest" | "drop" | "boundary";

/** A new event type does not compile until somebody decides how it folds. */
export const FOLD: Readonly<Record<EventType, Fold>> = {
  session_created: "keep",
  session_status: "latest",
  session_lifecycle: "drop",
  agent_connected: "latest",
  instructions_sent: "latest",
  session_drift: "keep",
  session_died: "drop",
  session_closed: "drop",

  prompt_admitted: "drop",
  pending_prompt_added: "keep",
  pending_prompt_started: "keep",
  pending_prompt_completed: "keep",
  session_update: "keep",
  mid_turn_message_injected: "keep",
  prompt_cancelled: "keep",
  turn_complete: "boundary",
  turn_error: "boundary",

  permission_request: "keep",
  permission_decided: "keep",
  permission_resolved: "keep",
  permission_already_resolved: "drop",
  permission_partial_vote: "drop",
  permission_voter_left: "drop",
  permission_forbidden: "drop",
  agent_access: "keep",
  session_grant_added: "keep",
  session_grant_revoked: "keep",

  credits_reserved: "drop",
  credits_settled: "keep",
  usage_reported: "latest",

  session_metadata_updated: "latest",
  model_switched: "latest",
  model_switch_failed: "keep",
  model_config_changed: "latest",
  approval_mode_changed: "latest",
  autonomy_profile_changed: "latest",
  agent_mode_changed: "latest",
  sandbox_changed: "latest",
  skills_reloaded: "keep",
  persona_reloaded: "keep",
  active_agent_changed: "keep",
  session_cwd_changed: "latest",
  session_budget_changed: "latest",

  client_attached: "drop",
  client_detached: "drop",
  client_expired: "drop",
  user_shell_command: "keep",
  user_shell_result: "keep",

  command_result: "keep",
  skill_invoked: "keep",
  session_branched: "keep",
  child_session_started: "keep",
  child_session_ended: "keep",
  secret_redacted: "latest",
  followup_suggestion: "latest",
  credits_warning: "keep",
  credits_waiting: "drop",
  artifact_changed: "keep",
  session_recording_degraded: "latest",
  background_notification_turn_complete: "keep",
  agent_setting_refused: "keep",
};

/** The event types, in the order of the table. */
export const EVENT_TYPES: readonly EventType[] = Object.keys(FOLD).filter(isEventType);

export function isEventType(text: string): text is EventType {
  return Object.hasOwn(FOLD, text);
}

/**
 * How the kinds of a `session_update` fold; a kind not listed is kept. A sub-agent's updates are
 * not mixed with those of others.
 *
 * - `join`: text that goes on is one text.
 * - `collapse`: a tool call is one event, in the place of its first, in the state of its last.
 * - `patch`: one per turn, in which each field is as it was last said. ACP lets an agent leave out
 *   of `session_info_update` what has not changed, so the latest alone may have lost the title.
 */
export type UpdateFold = "keep" | "latest" | "join" | "collapse" | "patch";

const UPDATE_FOLD: ReadonlyMap<string, UpdateFold> = new Map([
  ["agent_message_chunk", "join"],
  ["agent_thought_chunk", "join"],
  ["shell_output", "join"],
  ["tool_call", "collapse"],
  ["tool_call_update", "collapse"],
  ["available_commands_update", "latest"],
  ["current_mode_update", "latest"],
  ["config_option_update", "latest"],
  ["session_info_update", "patch"],
  ["usage_update", "latest"],
  ["plan", "latest"],
]);

export function updateFold(sessionUpdate: string): UpdateFold {
  return UPDATE_FOLD.get(sessionUpdate) ?? "keep";
}

import type { SessionId } from "../../core/id.ts";
import type { LogEvent } from "../../core/replay/join.ts";
import type { EventType } from "../../core/session/event.ts";

/**
 * Whether a fork has an event of the session it was made from: what was said and done in turns, so
 * that a replay shows it. Not what the other session was set to, who was there, what it cost or
 * how it lived: the fork has a life of its own. A new event type does not compile until somebody
 * decides.
 */
const IS_COPIED: Readonly<Record<EventType, boolean>> = {
  session_created: false, // It has one of its own,
  session_status: false, // and its own agent,
  session_lifecycle: false, // and its own life.
  agent_connected: false,
  instructions_sent: false,
  session_drift: false,
  session_died: false,
  session_closed: false,

  prompt_admitted: false, // A copy of it would be a prompt without a verdict.
  pending_prompt_added: false, // What waited may have run only after the fork.
  pending_prompt_started: false,
  pending_prompt_completed: false,
  session_update: true,
  mid_turn_message_injected: true,
  prompt_cancelled: true,
  turn_complete: true,
  turn_error: true,
  command_result: true,
  skill_invoked: true,

  permission_request: true,
  permission_decided: true,
  permission_resolved: true,
  permission_already_resolved: false,
  permission_partial_vote: false,
  permission_voter_left: false,
  permission_forbidden: false,
  agent_access: true,
  session_grant_added: false, // Nobody has granted anything here.
  session_grant_revoked: false,

  credits_reserved: false, // Nothing is paid twice (P9).
  credits_settled: false,
  usage_reported: false,

  session_metadata_updated: false, // It begins with what the other is set to now.
  model_switched: false,
  model_switch_failed: false,
  model_config_changed: false,
  approval_mode_changed: false,
  autonomy_profile_changed: false,
  agent_mode_changed: false,
  sandbox_changed: false,
  skills_reloaded: false,
  persona_reloaded: false,
  active_agent_changed: false,
  session_cwd_changed: false,
  session_budget_changed: false,

  client_attached: false,
  client_detached: false,
  client_expired: false,
  user_shell_command: true,
  user_shell_result: true,

  session_branched: false,
  child_session_started: false,
  child_session_ended: false,
  secret_redacted: false,
  followup_suggestion: false,
  credits_warning: false,
  credits_waiting: false,
  artifact_changed: false,
  session_recording_degraded: false,
  background_notification_turn_complete: false,
  agent_setting_refused: false,
};

/** What a fork has of a folded turn, in its own name and numbered on from where its log ends. */
export function copiedEvents(
  turn: readonly LogEvent[],
  sessionId: SessionId,
  firstId: number,
): readonly LogEvent[] {
  const copied = turn.filter(({ type }) => Object.hasOwn(IS_COPIED, type) && IS_COPIED[type]);
  return copied.map((event, index) => inSession(event, sessionId, firstId + index));
}

function inSession<Event extends LogEvent>(event: Event, sessionId: SessionId, id: number): Event {
  return { ...event, id, data: { ...event.data, sessionId } };
}

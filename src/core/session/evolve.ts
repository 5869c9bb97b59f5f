import type { EventType, SessionEvent } from "./event.ts";
import * as access from "./evolve/access.ts";
import * as ask from "./evolve/ask.ts";
import * as client from "./evolve/client.ts";
import * as credit from "./evolve/credit.ts";
import * as instance from "./evolve/instance.ts";
import * as output from "./evolve/output.ts";
import * as prompt from "./evolve/prompt.ts";
import * as setting from "./evolve/setting.ts";
import type { Session } from "./state.ts";

/**
 * What an event does to the session. Total and literal: it asks nothing and refuses nothing,
 * because whatever stands in the log has been decided and has happened. An event of a type that
 * only a newer version knows changes nothing.
 */
export function evolve(session: Session, event: SessionEvent): Session;
export function evolve(session: Session | null, event: SessionEvent): Session | null;
export function evolve(session: Session | null, event: SessionEvent): Session | null {
  if (event.type === "session_created") return instance.created(event);
  return session === null ? null : apply(session, event);
}

function apply<Type extends EventType>(session: Session, event: SessionEvent<Type>): Session {
  if (!Object.hasOwn(EVOLVERS, event.type)) return session;
  const evolver: Evolver<Type> = EVOLVERS[event.type];
  return evolver(session, event);
}

type Evolver<Type extends EventType> = (session: Session, event: SessionEvent<Type>) => Session;

const same = (session: Session): Session => session;

/** A new event type does not compile until its effect has been decided here. */
const EVOLVERS: { readonly [Type in EventType]: Evolver<Type> } = {
  session_created: same,
  session_status: instance.statusChanged,
  session_lifecycle: instance.phaseChanged,
  agent_connected: instance.agentConnected,
  instructions_sent: instance.instructed,
  session_drift: same,
  session_died: same,
  session_closed: instance.closed,

  prompt_admitted: prompt.admitted,
  pending_prompt_added: prompt.waits,
  pending_prompt_started: same,
  pending_prompt_completed: same,
  session_update: output.updated,
  mid_turn_message_injected: prompt.steered,
  prompt_cancelled: prompt.stopAsked,
  turn_complete: prompt.completed,
  turn_error: prompt.failed,

  permission_request: ask.made,
  permission_decided: access.askDecided,
  permission_resolved: ask.resolved,
  permission_already_resolved: same,
  permission_partial_vote: ask.voted,
  permission_voter_left: ask.voterLeft,
  permission_forbidden: same,
  agent_access: access.happened,
  session_grant_added: ask.granted,
  session_grant_revoked: ask.grantRevoked,

  credits_reserved: credit.reserved,
  credits_settled: credit.settled,
  usage_reported: credit.usageReported,

  session_metadata_updated: setting.metadataUpdated,
  model_switched: setting.modelSwitched,
  model_switch_failed: same,
  model_config_changed: setting.modelConfigChanged,
  approval_mode_changed: setting.approvalModeChanged,
  autonomy_profile_changed: setting.autonomyProfileChanged,
  agent_mode_changed: setting.agentModeChanged,
  sandbox_changed: setting.sandboxChanged,
  skills_reloaded: setting.skillsReloaded,
  persona_reloaded: setting.personaReloaded,
  active_agent_changed: setting.agentChanged,
  session_cwd_changed: setting.cwdChanged,
  session_budget_changed: setting.budgetChanged,

  client_attached: client.attached,
  client_detached: client.detached,
  client_expired: client.expired,
  user_shell_command: client.shellStarted,
  user_shell_result: client.shellEnded,

  command_result: same,
  skill_invoked: same,
  session_branched: same,
  child_session_started: same,
  child_session_ended: same,
  secret_redacted: same,
  followup_suggestion: same,
  credits_warning: same,
  credits_waiting: same,
  artifact_changed: same,
  session_recording_degraded: same,
  background_notification_turn_complete: same,
  agent_setting_refused: same,
};

import type { SessionEvent } from "./event.ts";
import { type EventTypeThat, eventIs } from "./event-table.ts";
import * as ask from "./evolve/ask.ts";
import * as child from "./evolve/child.ts";
import * as client from "./evolve/client.ts";
import * as instance from "./evolve/instance.ts";
import * as output from "./evolve/output.ts";
import * as setting from "./evolve/setting.ts";
import * as workflow from "./evolve/workflow.ts";
import type { Session } from "./state.ts";

/**
 * What an event does to the session. Total and literal: it asks nothing and refuses nothing,
 * because what stands in the log has been decided. An event type of a newer version changes
 * nothing.
 */
export function evolve(session: Session, event: SessionEvent): Session;
export function evolve(session: Session | null, event: SessionEvent): Session | null;
export function evolve(session: Session | null, event: SessionEvent): Session | null {
  if (event.type === "session_created") return instance.created(event);
  return session === null || !eventIs(event, "evolves") ? session : apply(session, event);
}

/** The event types that change a session that is there. */
type ChangeType = Exclude<EventTypeThat<"evolves">, "session_created">;

function apply<Type extends ChangeType>(session: Session, event: SessionEvent<Type>): Session {
  const evolver: Evolver<Type> = EVOLVERS[event.type];
  return evolver(session, event);
}

type Evolver<Type extends ChangeType> = (session: Session, event: SessionEvent<Type>) => Session;

const EVOLVERS: { readonly [Type in ChangeType]: Evolver<Type> } = {
  session_status: instance.statusChanged,
  session_lifecycle: instance.phaseChanged,
  agent_connected: instance.agentConnected,
  agent_offer: instance.offered,
  instructions_sent: instance.instructed,
  session_closed: instance.closed,

  prompt_admitted: client.admitted,
  pending_prompt_added: client.waits,
  session_update: output.updated,
  mid_turn_message_injected: client.steered,
  prompt_cancelled: client.stopAsked,
  turn_complete: client.completed,
  turn_error: client.failed,

  child_session_started: child.started,
  child_usage_reported: child.usageReported,
  child_session_ended: child.ended,

  workflow_attached: workflow.attached,
  stage_started: workflow.stageStarted,
  stage_prompted: workflow.stagePrompted,
  stage_ended: workflow.stageEnded,
  workflow_paused: workflow.paused,
  workflow_resumed: workflow.resumed,
  workflow_ended: workflow.ended,
  workflow_aborted: workflow.aborted,

  permission_request: ask.made,
  permission_decided: ask.decided,
  permission_resolved: ask.resolved,
  permission_partial_vote: ask.voted,
  permission_voter_left: ask.voterLeft,
  agent_access: ask.accessed,
  session_grant_added: ask.granted,
  session_grant_revoked: ask.grantRevoked,

  credits_reserved: output.reserved,
  credits_settled: output.settled,
  usage_reported: output.usageReported,

  session_metadata_updated: setting.metadataUpdated,
  session_named: setting.named,
  model_switched: setting.modelSwitched,
  model_config_changed: setting.modelConfigChanged,
  approval_mode_changed: setting.approvalModeChanged,
  autonomy_profile_changed: setting.autonomyProfileChanged,
  agent_mode_changed: setting.agentModeChanged,
  agent_option_changed: setting.agentOptionChanged,
  sandbox_changed: setting.sandboxChanged,
  session_visibility_changed: setting.visibilityChanged,
  skills_reloaded: setting.skillsReloaded,
  persona_reloaded: setting.personaReloaded,
  active_agent_changed: setting.agentChanged,
  session_cwd_changed: setting.cwdChanged,
  session_budget_changed: setting.budgetChanged,
  session_month_budget_changed: setting.monthBudgetChanged,

  client_attached: client.attached,
  client_detached: client.detached,
  client_expired: client.expired,
  user_shell_command: client.shellStarted,
  user_shell_result: client.shellEnded,
};

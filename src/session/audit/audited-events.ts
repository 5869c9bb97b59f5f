import { type JsonObject, stringAt } from "../../core/json.ts";
import { keyKind } from "../../core/policy/approval-key.ts";
import type { AskOutcome } from "../../core/policy/ask.ts";
import { approvalMeaning, isToolKind } from "../../core/policy/risk.ts";
import type { Command } from "../../core/session/command.ts";
import type { SessionEvent, Skipped } from "../../core/session/event.ts";
import { type EventTypeThat, eventIs } from "../../core/session/event-table.ts";
import type { Creation } from "../../core/session/state.ts";
import { type Details, details, listed } from "./details.ts";
import { agentName, hashName } from "./name.ts";

type AuditedType = EventTypeThat<"audited">;

type Data<Type extends AuditedType> = SessionEvent<Type>["data"];

/** What the audit is told of an event; `command` is what the event came from. */
type Teller<Type extends AuditedType> = (data: Data<Type>, command: Command) => Details;

/**
 * Which events are audited, and what is told of them. Null is an event that the log alone has:
 * it decides nothing, or another entry of the same decision says it already. A new event type
 * does not compile until somebody decides.
 */
const AUDITED: { readonly [Type in AuditedType]: Teller<Type> } = {
  session_created: ({ creation }) => {
    const { scope, securityMode, approvalMode, activeAgent, storeId, workspaceCwd } = creation;
    const chosen = { scope, securityMode, approvalMode, activeAgent, storeId, workspaceCwd };
    const parent = creation.parentSessionId ?? undefined;
    const from = { parentSessionId: parent, sourceType: creation.source?.type };
    return details({ ...chosen, ...unaskedDetails(creation), ...from });
  },
  session_status: ({ from, to, cause, activation }) => details({ from, to, cause, activation }),
  session_lifecycle: ({ event, from, to, outcome, reason, skipped }) => ({
    ...details({ event, from, to, outcome, reason }),
    ...listed("skipped", (skipped ?? []).map(skippedDetails)),
  }),
  agent_connected: ({ context }) => details({ context }),
  instructions_sent: ({ via, skills, persona }) => details({ via, skills, persona }),
  session_drift: ({ changes }) => details({ what: changes.map(({ what }) => what).join(", ") }),
  session_died: ({ reason, exitCode, signalCode }) => details({ reason, exitCode, signalCode }),
  session_closed: ({ reason }) => details({ reason }),

  prompt_admitted: ({ echo }) => details({ echo }),
  mid_turn_message_injected: ({ messageIds }) => details({ messageId: messageIds[0] }),
  prompt_cancelled: ({ reason }) => details({ reason }),
  turn_complete: ({ stopReason }) => details({ stopReason: agentName(stopReason) }),
  turn_error: ({ code, errorKind, partialOutput }) =>
    details({ code: agentName(code), errorKind: errorKind && agentName(errorKind), partialOutput }),
  command_result: ({ status, code }) => details({ status, code }),
  skill_invoked: ({ skill, source, mode }) => details({ skill, source, mode }),

  permission_request: ({ requestId, kind, tier, mediation, toolCall }) => {
    const { policy, quorum, voters } = mediation;
    const rules = { policy, quorum, voters: voters.length };
    return details({ requestId, kind, tier, ...rules, ...toolDetails(toolCall) });
  },
  permission_decided: ({ requestId, gate, tier, allowed, outcome, toolCall }, command) => {
    const chosen = { ...outcomeDetails(outcome), optionKind: optionKind(outcome, command) };
    return details({ requestId, gate, tier, allowed, ...chosen, ...toolDetails(toolCall) });
  },
  permission_resolved: ({ requestId, outcome, reason, granted }) =>
    details({ requestId, reason, ...outcomeDetails(outcome), granted }),
  permission_already_resolved: ({ requestId }) => details({ requestId }),
  permission_partial_vote: ({ requestId, voter, optionId, votesReceived, votesNeeded }) =>
    details({ requestId, voter, optionId: agentName(optionId), votesReceived, votesNeeded }),
  permission_voter_left: ({ requestId, left, votesReceived, votesNeeded }) =>
    details({ requestId, left: left.join(", "), votesReceived, votesNeeded }),
  permission_forbidden: ({ requestId, reason }) => details({ requestId, reason }),
  agent_access: ({ requestId, access, tier, allowed, by, answeredBy }) =>
    details({ requestId, action: access.action, tier, allowed, by, answeredBy }),
  session_grant_added: ({ key, tier, requestId }) =>
    details({ requestId, ...keyDetails(key), tier }),
  session_grant_revoked: ({ key, reason }) => details({ ...keyDetails(key), reason }),

  session_metadata_updated: ({ titleSource, displayName }) =>
    details({ titleSource, isNamed: displayName !== undefined }), // A title may quote a prompt.
  model_switched: ({ modelId }) => details({ modelId }),
  model_switch_failed: ({ requestedModelId }) => details({ requestedModelId }),
  model_config_changed: ({ to }) => details({ ...to }),
  approval_mode_changed: ({ previous, next, persisted }) => details({ previous, next, persisted }),
  autonomy_profile_changed: ({ from, to }) => details({ from, to }),
  agent_mode_changed: ({ from, to }) => details({ from, to }),
  sandbox_changed: ({ state, from }) => details({ from, state }),
  skills_reloaded: reloaded,
  persona_reloaded: reloaded,
  active_agent_changed: ({ from, to }) => details({ from, to }),
  session_cwd_changed: ({ from, to }) => details({ from, to }),
  session_budget_changed: ({ from, to }) => details({ from, to }),

  user_shell_command: ({ shellId }) => details({ shellId }),
  user_shell_result: ({ shellId, exitCode, signal, aborted }) =>
    details({ shellId, exitCode, signal, aborted }),

  session_branched: ({ newSessionId }) => details({ newSessionId }),
  secret_redacted: ({ where }) => details({ where }),
  credits_warning: ({ scope, usedMicro, budgetMicro }) =>
    details({ scope, usedMicro, budgetMicro }),
  credits_waiting: ({ code, scope, neededMicro, availableMicro }) =>
    details({ code, scope, neededMicro, availableMicro }),
  agent_setting_refused: ({ setting, value }) => details({ setting, value }),
};

/** What the audit entry of an event holds; null for an event without one. */
export function auditedDetails(event: SessionEvent, command: Command): Details | null {
  return eventIs(event, "audited") ? tell(event, command) : null;
}

function tell<Type extends AuditedType>(event: SessionEvent<Type>, command: Command): Details {
  const teller: Teller<Type> = AUDITED[event.type];
  return teller(event.data, command);
}

function reloaded({ from, to }: Data<"skills_reloaded" | "persona_reloaded">): Details {
  const versions = { fromVersion: from.version, toVersion: to.version };
  return details({ ...versions, fromHash: from.hash, toHash: to.hash });
}

const skippedDetails = ({ name, reason }: Skipped): Details => details({ name, reason });

function outcomeDetails(outcome: AskOutcome) {
  const optionId = outcome.outcome === "selected" ? agentName(outcome.optionId) : undefined;
  return { outcome: outcome.outcome, optionId };
}

/** Whether a gate allowed or refused shows in the kind of what it chose among the offered. */
function optionKind(outcome: AskOutcome, command: Command): string | undefined {
  if (command.type !== "ask" || outcome.outcome !== "selected") return undefined;
  const option = command.options.find(({ optionId }) => optionId === outcome.optionId);
  const kind = option && stringAt(option, "kind");
  return kind ? agentName(kind) : undefined;
}

/** What a session may do from its beginning without that anybody is asked. */
function unaskedDetails(creation: Creation) {
  const { approvalMode, allowlist, budgetMicro } = creation;
  const meant = approvalMeaning(approvalMode);
  return {
    autonomyProfile: creation.autonomyProfile ?? meant.autonomyProfile,
    agentMode: meant.agentMode ?? creation.agentMode ?? null,
    budgetMicro,
    allowlistCount: allowlist.length,
    allowlistHash: allowlist.length > 0 ? hashName(JSON.stringify(allowlist)) : undefined,
  };
}

/** The title and input of a call are what an agent said; its kind and id are names. */
function toolDetails(toolCall: JsonObject) {
  const kind = stringAt(toolCall, "kind");
  const id = stringAt(toolCall, "toolCallId");
  return {
    toolKind: kind === null ? undefined : toolKind(kind),
    toolCallId: id === null ? undefined : agentName(id),
  };
}

/** A kind that the protocol does not have is an agent's own word. */
function toolKind(kind: string): string {
  return isToolKind(kind) ? kind : "other";
}

/** An approval key is a kind and then a command line or a path, which is none of ours. */
function keyDetails(key: string) {
  return { toolKind: toolKind(keyKind(key)), keyHash: hashName(key) };
}

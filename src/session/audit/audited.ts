import { createHash } from "node:crypto";
import type { Refusal } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import {
  AUDIT_AGENT_NAME_CHARS_MAX,
  AUDIT_LISTED_MAX,
  AUDIT_NAME_CHARS_MAX,
} from "../../core/limits.ts";
import { keyKind } from "../../core/policy/approval-key.ts";
import type { AskOutcome } from "../../core/policy/ask.ts";
import { approvalMeaning, isToolKind } from "../../core/policy/risk.ts";
import type { Command, CommandType } from "../../core/session/command.ts";
import type { SessionEvent, Skipped } from "../../core/session/event.ts";
import {
  EVENT_TABLE,
  EVENT_TYPES,
  type EventTypeThat,
  eventIs,
} from "../../core/session/event-table.ts";
import type { Creation } from "../../core/session/state.ts";
import { cutText } from "../../core/text.ts";

type AuditedType = EventTypeThat<"audited">;

type Data<Type extends AuditedType> = SessionEvent<Type>["data"];

/** Picks what the audit holds of an event; `command` is what the event came from. */
type AuditPicker<Type extends AuditedType> = (data: Data<Type>, command: Command) => AuditDetails;

/**
 * What the audit holds of each event that `EVENT_TABLE` marks as audited. A new such type does not
 * compile without a row here.
 */
const AUDITED: { readonly [Type in AuditedType]: AuditPicker<Type> } = {
  session_created: ({ creation }) => {
    const { scope, securityMode, approvalMode, activeAgent, storeId, workspaceCwd } = creation;
    const chosen = { scope, securityMode, approvalMode, activeAgent, storeId, workspaceCwd };
    const { visibility, name } = creation;
    const parent = creation.parentSessionId ?? undefined;
    const from = { parentSessionId: parent, sourceType: creation.source?.type };
    return details({ ...chosen, ...unaskedDetails(creation), ...from, visibility, name });
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

  child_session_started: ({ childId, agent, model, readOnly }) =>
    details({ childId, agent, model, readOnly }),
  child_session_ended: ({ childId, state, error }) =>
    details({ childId, state, code: error && agentName(error.code) }),

  workflow_attached: ({ name, hash }) => details({ name, hash }),
  stage_started: ({ stages, attempt }) => details({ stages: stages.join(", "), attempt }),
  stage_ended: ({ stages, attempt, outcome }) =>
    details({ stages: stages.join(", "), attempt, outcome }),
  workflow_paused: ({ reason }) => details({ reason }),
  workflow_resumed: ({ stages }) => details({ stages: stages.join(", ") }),
  workflow_ended: ({ state }) => details({ state }),
  workflow_aborted: () => details({}),

  permission_request: ({ requestId, kind, tier, mediation, toolCall }) => {
    const { policy, quorum, voters } = mediation;
    const rules = { policy, quorum, voters: voters.length };
    return details({ requestId, kind, tier, ...rules, ...toolDetails(toolCall) });
  },
  permission_decided: ({ requestId, gate, tier, allowed, guard, outcome, toolCall }, command) => {
    const chosen = { ...outcomeDetails(outcome), optionKind: optionKind(outcome, command) };
    const ruled = { requestId, gate, tier, allowed, extension: guard?.extension };
    return details({ ...ruled, ...chosen, ...toolDetails(toolCall) });
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
  session_named: ({ name, source }) =>
    details({ source, name: source === "given" ? name : undefined }), // The words of a prompt.
  model_switched: ({ modelId }) => details({ modelId }),
  model_switch_failed: ({ requestedModelId }) => details({ requestedModelId }),
  model_config_changed: ({ to }) => details({ ...to }),
  approval_mode_changed: ({ previous, next, persisted }) => details({ previous, next, persisted }),
  autonomy_profile_changed: ({ from, to }) => details({ from, to }),
  agent_mode_changed: ({ from, to }) => details({ from, to }),
  agent_option_changed: ({ configId, value }) => details({ configId, value }),
  sandbox_changed: ({ state, from }) => details({ from, state }),
  skills_reloaded: reloaded,
  persona_reloaded: reloaded,
  active_agent_changed: ({ from, to }) => details({ from, to }),
  session_cwd_changed: ({ from, to }) => details({ from, to }),
  session_budget_changed: ({ from, to }) => details({ from, to }),
  session_visibility_changed: ({ visibility, from, sharedWith }) =>
    details({ visibility, from, sharedWith: sharedWith.join(", ") || undefined }),
  session_month_budget_changed: ({ from, to }) => details({ from, to }),

  user_shell_command: ({ shellId }) => details({ shellId }),
  user_shell_result: ({ shellId, exitCode, signal, aborted }) =>
    details({ shellId, exitCode, signal, aborted }),

  session_branched: ({ newSessionId }) => details({ newSessionId }),
  secret_redacted: ({ where }) => details({ where }),
  credits_warning: ({ scope, period, userId }, command) => {
    const { usedMicro, budgetMicro } = (command.type === "announce" && command.figures) || {};
    return details({ scope, period, userId, usedMicro, budgetMicro });
  },
  credits_waiting: ({ code, scope, period, neededMicro, availableMicro }) =>
    details({ code, scope, period, neededMicro, availableMicro }),
  agent_setting_refused: ({ setting, value }) => details({ setting, value }),
  usage_suspect: ({ reason, detail, turnId }) => details({ reason, detail, turnId }),
  extension_disabled: ({ extension }) => details({ extension }),
};

/** Returns what the audit entry of an event holds; null for an event without one. */
export function auditedDetails(event: SessionEvent, command: Command): AuditDetails | null {
  return eventIs(event, "audited") ? pick(event, command) : null;
}

function pick<Type extends AuditedType>(event: SessionEvent<Type>, command: Command): AuditDetails {
  const picker: AuditPicker<Type> = AUDITED[event.type];
  return picker(event.data, command);
}

function reloaded({ from, to }: Data<"skills_reloaded" | "persona_reloaded">): AuditDetails {
  const versions = { fromVersion: from.version, toVersion: to.version };
  return details({ ...versions, fromHash: from.hash, toHash: to.hash });
}

const skippedDetails = ({ name, reason }: Skipped): AuditDetails => details({ name, reason });

function outcomeDetails(outcome: AskOutcome) {
  const optionId = outcome.outcome === "selected" ? agentName(outcome.optionId) : undefined;
  return { outcome: outcome.outcome, optionId };
}

/** The kind of the option that a gate chose says whether the gate allowed or refused. */
function optionKind(outcome: AskOutcome, command: Command): string | undefined {
  if (command.type !== "ask" || outcome.outcome !== "selected") return undefined;
  const option = command.options.find(({ optionId }) => optionId === outcome.optionId);
  const kind = option && stringAt(option, "kind");
  return kind ? agentName(kind) : undefined;
}

/** What the session's agent may do from the beginning without an ask. */
function unaskedDetails(creation: Creation) {
  const { approvalMode, allowlist, budgetMicro, monthBudgetMicro } = creation;
  const meant = approvalMeaning(approvalMode);
  return {
    autonomyProfile: creation.autonomyProfile ?? meant.autonomyProfile,
    agentMode: meant.agentMode ?? creation.agentMode ?? null,
    budgetMicro,
    monthBudgetMicro,
    allowlistCount: allowlist.length,
    allowlistHash: allowlist.length > 0 ? hashName(JSON.stringify(allowlist)) : undefined,
  };
}

/** Leaves out the title and input of a call, which are text of the agent. */
function toolDetails(toolCall: JsonObject) {
  const kind = stringAt(toolCall, "kind");
  const id = stringAt(toolCall, "toolCallId");
  return {
    toolKind: kind === null ? undefined : toolKind(kind),
    toolCallId: id === null ? undefined : agentName(id),
  };
}

/** A kind that ACP does not have may be any text of the agent. */
function toolKind(kind: string): string {
  return isToolKind(kind) ? kind : "other";
}

/** An approval key is a kind and then a command line or a path, which only its hash names. */
function keyDetails(key: string) {
  return { toolKind: toolKind(keyKind(key)), keyHash: hashName(key) };
}

/**
 * Whether a refusal of this command has an entry. Commands that come in floods and ask for no
 * change have none: the caller's counters are enough. A new command does not compile without a row.
 */
const REFUSAL_AUDITED: Readonly<Record<CommandType, boolean>> = {
  create: true,
  resume: true,
  stop: true,
  close: true,
  recovery: true,
  store_failure: true,

  activate: true,
  agent_status: true,
  agent_exit: true,
  agent_unavailable: true,
  instructed: true,
  agent_offer: true,
  agent_update: false,
  usage: false,

  prompt: true,
  begin_turn: true,
  command_result: true,
  remove_prompt: true,
  refuse_prompt: true,
  steer: true,
  take_messages: true,
  cancel: true,
  reserve_slice: true,
  deadline_passed: true,
  limit_passed: true,
  commit_refused: true,

  start_child: true,
  child_update: false,
  child_usage: false,
  child_ended: true,

  attach_workflow: true,
  begin_stage: true,
  prompt_stage: true,
  steer_workflow: true,
  abort_workflow: true,

  ask: true,
  access: true,
  ask_withdrawn: true,
  vote: true,
  voter_gone: true,
  revoke_grant: true,

  metadata: true,
  model: true,
  approval_mode: true,
  autonomy: true,
  agent_mode: true,
  agent_option: true,
  sandbox: true,
  reload_skills: true,
  reload_persona: true,
  change_agent: true,
  change_cwd: true,
  set_budget: true,
  visibility: true,

  attach: true,
  detach: true,
  client_expiry: true,
  shell_started: true,
  shell_output: false,
  shell_result: true,

  announce: true,
};

/** The details of a refusal that are Fermata's own names; others may quote the request. */
const OWN_DETAILS = [
  "state",
  "trigger",
  "actor",
  "limit",
  "scope",
  "neededMicro",
  "availableMicro",
  "rule",
  "role",
] as const;

/** Returns what the audit holds of a refusal that left no event; null if it has no entry. */
export function refusedDetails(command: Command, refusal: Refusal): AuditDetails | null {
  if (!REFUSAL_AUDITED[command.type]) return null;
  const requestId = "requestId" in command ? command.requestId : undefined;
  const own = Object.fromEntries(OWN_DETAILS.map((name) => [name, refusal.details[name]]));
  return details({ requestId, ...own });
}

/**
 * What an entry says of its act: only names, ids, codes and counts, each of them short. The texts
 * of people and agents, and the input and output of tools, are in the log and are deleted with it;
 * the audit stays.
 */
export interface AuditDetails {
  readonly [name: string]: Detail;
}

type Detail = string | number | boolean | null | readonly Detail[] | AuditDetails;

/** Cuts each text to the length of a name, and leaves out what is undefined. */
export function details(facts: { readonly [name: string]: Detail | undefined }): AuditDetails {
  const kept: { [name: string]: Detail } = {};
  for (const [name, fact] of Object.entries(facts)) {
    if (fact === undefined) continue;
    kept[name] = typeof fact === "string" ? cutText(fact, AUDIT_NAME_CHARS_MAX) : fact;
  }
  return kept;
}

/** Returns the first items of a list, and how many there are. */
function listed(name: string, items: readonly AuditDetails[]): AuditDetails {
  if (items.length === 0) return {};
  return { [name]: items.slice(0, AUDIT_LISTED_MAX), [`${name}Count`]: items.length };
}

/**
 * Names a text that the audit must not hold. Equal texts have equal names, so that a reader who
 * knows the text finds its entries.
 */
function hashName(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_NAME_CHARS);
}

const HASH_NAME_CHARS = 16;

/**
 * Returns what an agent calls something, or its hash if that is not short and plain: the agent may
 * put any text there, also what it has read (P11).
 */
function agentName(text: string): string {
  const isName = text.length <= AUDIT_AGENT_NAME_CHARS_MAX && PLAIN.test(text);
  return isName ? text : `sha256:${hashName(text)}`;
}

const PLAIN = /^[\w.:-]+$/;

/**
 * Acts outside of sessions: changes of what is a tenant's, by its members and by operators, and
 * looks into its agents, which show the texts of every session. docs/protocol.md describes each.
 */
export const CHANGE_ACTS = [
  "token_created",
  "token_rotated",
  "token_revoked",
  "member_set",
  "member_removed",
  "invitation_created",
  "invitation_revoked",
  "invitation_redeemed",
  "credits_granted",
  "credits_grant_revoked",
  "credits_limit_set",
  "credits_budget_set",
  "workspace_added",
  "workspace_trust_set",
  "tenant_settings_set",
  "policy_set",
  "agents_traced",
  "agent_logs_read",
  "agent_restarted",
  "agent_signed_out",
  "agent_sessions_read",
  "agent_session_adopted",
  "session_seized",
  "log_cut",
  "restored",
] as const;

export type ChangeAct = (typeof CHANGE_ACTS)[number];

/** Acts of a session that are no events, and what agents do in the world. */
export const OTHER_ACTS = [
  "command_refused",
  "checkpoint",
  "session_deleted",
  "slot_access_denied",
  "extensions_reloaded",
  "fs.read",
  "fs.write",
  "terminal.create",
  "tool_dispatch",
] as const;

/** The names of all acts, sorted. */
export const AUDIT_ACTS: readonly string[] = [
  ...EVENT_TYPES.filter((type) => EVENT_TABLE[type].audited),
  ...CHANGE_ACTS,
  ...OTHER_ACTS,
].toSorted();

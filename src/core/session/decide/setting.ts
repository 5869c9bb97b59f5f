import { type Refusal, refusal } from "../../error.ts";
import { AGENT_OPTIONS_SET_MAX, DISPLAY_NAME_CHARS_MAX, MICRO_CREDITS_MAX } from "../../limits.ts";
import {
  type ApprovalMode,
  type AutonomyProfile,
  approvalMeaning,
  approvalModeAllowed,
  approvalModeFor,
} from "../../policy/risk.ts";
import { isCount } from "../../price.ts";
import { type AgentMode, sandboxDueAtMs } from "../../turn.ts";
import { type Actor, type Command, type CommandData, callerStamp } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import type { Stamp } from "../event.ts";
import { isSessionName, SESSION_NAME_RULE } from "../name.ts";
import { isSameConfig, type ModelFailure, type Session, type SnapshotRef } from "../state.ts";
import { audienceOf, isSameAudience, sharingOf } from "../visibility.ts";

/**
 * Names the session; the empty display name takes that away, what is the same is no news. Whether
 * another session has the name is known where the caller's sessions are.
 */
export function metadata(session: Session, command: Command<"metadata">): Decision {
  const { displayName, name } = command;
  const why = displayNameRefusal(displayName ?? "") ?? nameRefusal(name ?? null);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  const stamp = callerStamp(command.actor);
  if (displayName !== undefined && displayName !== (session.chosen.displayName ?? "")) {
    const named = displayName === "" ? {} : { displayName };
    draft.emit("session_metadata_updated", { ...named, titleSource: "manual" }, stamp);
  }
  const from = session.chosen.name ?? null;
  if (name !== undefined && name !== from) {
    draft.emit("session_named", { name, source: "given", from }, stamp);
  }
  return draft.accept();
}

/** A secret is taken out of a command before it is decided again, and no name is left then. */
export function nameRefusal(name: string | null): Refusal | null {
  if (name === null || isSessionName(name)) return null;
  return refusal("invalid_session_name", { reason: `${SESSION_NAME_RULE}.` });
}

export function displayNameRefusal(name: string): Refusal | null {
  const isText = name.isWellFormed() && ![...name].some(isControl);
  if (isText && name.length <= DISPLAY_NAME_CHARS_MAX) return null;
  return refusal("invalid_metadata", { field: "displayName", limit: DISPLAY_NAME_CHARS_MAX });
}

const isControl = (character: string) => character <= "\u001f" || character === "\u007f";

/** The agent has been asked already; this records its answer. */
export function model(session: Session, command: Command<"model">): Decision {
  const draft = new Draft(session, command);
  const stamp = callerStamp(command.actor);
  if ("failure" in command) return modelRefused(draft, command.failure, stamp);
  const { change } = command;
  const from = session.chosen.modelConfig;
  const to = { ...from, ...change };
  if (change.modelId !== undefined) {
    draft.emit("model_switched", { modelId: change.modelId }, stamp);
  }
  if (!isSameConfig(from, to)) draft.emit("model_config_changed", { from, to }, stamp);
  return draft.accept();
}

/** The wire has a word for models; the other settings have ours. */
function modelRefused(draft: Draft, failure: ModelFailure, stamp: Stamp): Decision {
  const { setting, value } = failure;
  const reason = failure.reason || "The agent gave no reason.";
  if (setting !== "modelId") {
    draft.emit("agent_setting_refused", { setting, value, reason }, stamp);
    return draft.refuse("agent_setting_refused", { setting, value, reason });
  }
  const requestedModelId = String(value);
  draft.emit("model_switch_failed", { requestedModelId, error: reason }, stamp);
  return draft.refuse("model_switch_failed", { requestedModelId, reason });
}

/**
 * The same mode again takes the profile back to what it stands for. It is a choice of the agent's
 * mode as well, which the agent may have left by itself.
 */
export function approvalMode(session: Session, command: Command<"approval_mode">): Decision {
  const { mode: next, persisted } = command;
  if (!approvalModeAllowed(next, session.fixed.securityMode)) {
    return refused(session, trustGate());
  }
  const draft = new Draft(session, command);
  const { actor } = command;
  const previous = session.chosen.approvalMode;
  if (next !== previous) {
    // It brings both with it.
    draft.emit("approval_mode_changed", { previous, next, persisted }, callerStamp(actor));
    return draft.accept();
  }
  const { autonomyProfile, agentMode } = approvalMeaning(next);
  profileChanged(draft, session.connection.autonomyProfile, autonomyProfile, actor);
  agentModeChosen(draft, agentMode, actor);
  return draft.accept();
}

/**
 * The same setting under its finer name. If the wire's word would promise more than is so, or
 * another comes nearer, that goes first; the agent's mode stays. What is asked already stays with
 * people: this is for what comes after it.
 */
export function autonomy(session: Session, command: Command<"autonomy">): Decision {
  const draft = new Draft(session, command);
  const { profile, actor } = command;
  reworded(draft, approvalModeFor(profile, session.chosen.approvalMode), actor);
  profileChanged(draft, session.connection.autonomyProfile, profile, actor);
  return draft.accept();
}

/**
 * Chooses the agent's own mode, for the next turn. A word that stands for another one would
 * be untrue from now on: the profile's own word goes first. Neither moves the profile.
 */
export function agentMode(session: Session, command: Command<"agent_mode">): Decision {
  const draft = new Draft(session, command);
  const { mode, actor } = command;
  const { autonomyProfile } = session.connection;
  const meant = approvalMeaning(session.chosen.approvalMode).agentMode;
  if (meant !== null && meant !== mode) {
    reworded(draft, approvalModeFor(autonomyProfile, "default"), actor);
  }
  agentModeChosen(draft, mode, actor);
  return draft.accept();
}

/** The agent has taken it already; it is given it again whenever it comes back. */
export function agentOption(session: Session, command: Command<"agent_option">): Decision {
  const draft = new Draft(session, command);
  const { configId, value, category, actor } = command;
  const { agentOptions } = session.chosen;
  const isNew = agentOptions?.has(configId) !== true;
  if (isNew && (agentOptions?.size ?? 0) >= AGENT_OPTIONS_SET_MAX) {
    const reason = "so many options of agents are set already";
    return draft.refuse("invalid_request", { reason, limit: AGENT_OPTIONS_SET_MAX });
  }
  draft.emit("agent_option_changed", { configId, value, category }, callerStamp(actor));
  return draft.accept();
}

/** Another word for what is so, or is about to be by an event of its own: it moves neither. */
function reworded(draft: Draft, next: ApprovalMode, actor: Actor) {
  const { approvalMode: previous } = draft.session.chosen;
  if (next === previous) return;
  const change = { previous, next, persisted: false, isWordOnly: true } as const;
  draft.emit("approval_mode_changed", change, callerStamp(actor));
}

/** Also if it is the same: what the agent is in by itself is not known here. */
function agentModeChosen(draft: Draft, to: AgentMode, actor: Actor) {
  const { agentMode: from } = draft.session.connection;
  draft.emit("agent_mode_changed", { from, to }, callerStamp(actor));
}

function profileChanged(draft: Draft, from: AutonomyProfile, to: AutonomyProfile, actor: Actor) {
  if (from === to) return;
  draft.emit("autonomy_profile_changed", { from, to }, callerStamp(actor));
}

export function trustGate(): Refusal {
  return refusal("trust_gate", { errorKind: "auth_env_error" });
}

/** The operator of the sandbox reports it; the session only keeps and shows it. */
export function sandbox(session: Session, command: Command<"sandbox">): Decision {
  const draft = new Draft(session, command);
  const { state } = command;
  const { sandboxState: from } = session.connection;
  if (state !== from) draft.emit("sandbox_changed", { state, from }, callerStamp(command.actor));
  return draft.accept();
}

/** It has been used since, or is another by now: then there is nothing to do. */
export function sandboxExpired(draft: Draft, atMs: number) {
  const { connection } = draft.session;
  const dueAtMs = sandboxDueAtMs(connection);
  if (dueAtMs === null || dueAtMs > atMs) return;
  draft.emit("sandbox_changed", { state: "timed_out", from: connection.sandboxState });
}

export function reloadSkills(session: Session, command: Command<"reload_skills">): Decision {
  const draft = new Draft(session, command);
  skillsReloaded(draft, command, callerStamp(command.actor));
  return draft.accept();
}

export function skillsReloaded(draft: Draft, loaded: CommandData["reload_skills"], stamp: Stamp) {
  const from = draft.session.chosen.skills;
  const { hash, difference } = loaded;
  draft.emit("skills_reloaded", { from, to: successor(from, hash), difference }, stamp);
}

export function reloadPersona(session: Session, command: Command<"reload_persona">): Decision {
  const draft = new Draft(session, command);
  personaReloaded(draft, command, callerStamp(command.actor));
  return draft.accept();
}

export function personaReloaded(draft: Draft, loaded: CommandData["reload_persona"], stamp: Stamp) {
  const from = draft.session.chosen.persona;
  const { hash, difference } = loaded;
  draft.emit("persona_reloaded", { from, to: successor(from, hash), difference }, stamp);
}

/** The version rises with every reload, even one that found nothing new; the hash then stays. */
function successor({ version }: SnapshotRef, hash: string): SnapshotRef {
  return { version: version + 1, hash };
}

export function changeAgent(session: Session, command: Command<"change_agent">): Decision {
  const draft = new Draft(session, command);
  agentChanged(draft, command, callerStamp(command.actor));
  return draft.accept();
}

/** Another agent takes over: the present one goes first, so that no turn meets the wrong one. */
export function agentChanged(draft: Draft, { to }: CommandData["change_agent"], stamp: Stamp) {
  const from = draft.session.chosen.activeAgent;
  if (to === from) return;
  draft.emit("active_agent_changed", { from, to }, stamp);
  if (draft.state === "ready") draft.moveTo("deactivating", "change_agent");
}

/** Moves within the workspace, which an agent can only do by beginning again there. */
export function changeCwd(session: Session, command: Command<"change_cwd">): Decision {
  const { workspaceCwd } = session.fixed;
  const { to } = command;
  const inside = to === workspaceCwd || to.startsWith(`${workspaceCwd.replace(/\/$/, "")}/`);
  if (!inside || to.split("/").includes("..")) {
    const details = { boundWorkspace: workspaceCwd, requestedWorkspace: to };
    return refused(session, refusal("workspace_mismatch", details));
  }
  const draft = new Draft(session, command);
  const from = session.chosen.currentCwd;
  if (to === from) return draft.accept();
  draft.emit("session_cwd_changed", { from, to }, callerStamp(command.actor));
  if (draft.state === "ready") draft.moveTo("deactivating", "change_cwd");
  return draft.accept();
}

/** Who may choose it is known at the door; here only what changes is decided. */
export function visibility(session: Session, command: Command<"visibility">): Decision {
  const { createdBy } = session.fixed;
  const { audience: before = null } = session.chosen;
  const audience = audienceOf(command, createdBy);
  const draft = new Draft(session, command);
  if (isSameAudience(before, audience)) return draft.accept();
  const { visibility: from } = sharingOf(before, createdBy);
  const to = sharingOf(audience, createdBy);
  draft.emit("session_visibility_changed", { ...to, from }, callerStamp(command.actor));
  return draft.accept();
}

export function setBudget(session: Session, command: Command<"set_budget">): Decision {
  const { budgetMicro: to } = command;
  if (to !== null && !isCount(to)) {
    return refused(session, refusal("invalid_amount", { limit: MICRO_CREDITS_MAX }));
  }
  const draft = new Draft(session, command);
  const stamp = callerStamp(command.actor);
  const { budgetMicro, monthBudgetMicro = null } = session.chosen;
  const isMonthly = command.period === "month";
  const from = isMonthly ? monthBudgetMicro : budgetMicro;
  if (to === from) return draft.accept();
  if (isMonthly) draft.emit("session_month_budget_changed", { from, to }, stamp);
  else draft.emit("session_budget_changed", { from, to }, stamp);
  return draft.accept();
}

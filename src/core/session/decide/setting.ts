import { type Refusal, refusal } from "../../error.ts";
import { DISPLAY_NAME_CHARS_MAX, MICRO_CREDITS_MAX } from "../../limits.ts";
import { approvalModeAllowed } from "../../policy/risk.ts";
import { isCount } from "../../price.ts";
import { type Command, type CommandData, callerStamp } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import type { Stamp } from "../event.ts";
import { isSameConfig, type ModelFailure } from "../model-config.ts";
import type { Session, SnapshotRef } from "../state.ts";

/** Names the session; the empty name takes the name away, the same name is no news. */
export function metadata(session: Session, command: Command<"metadata">): Decision {
  const { displayName } = command;
  const why = displayNameRefusal(displayName);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  if (displayName === (session.chosen.displayName ?? "")) return draft.accept();
  const named = displayName === "" ? {} : { displayName };
  draft.emit(
    "session_metadata_updated",
    { ...named, titleSource: "manual" },
    callerStamp(command.actor),
  );
  return draft.accept();
}

export function displayNameRefusal(name: string): Refusal | null {
  const isText = name.isWellFormed() && ![...name].some(isControl);
  if (isText && name.length <= DISPLAY_NAME_CHARS_MAX) return null;
  return refusal("invalid_metadata", { field: "displayName", limit: DISPLAY_NAME_CHARS_MAX });
}

const isControl = (character: string) => character <= "\u001f" || character === "\u007f";

/** The agent has been asked already; this records what it said. */
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

export function approvalMode(session: Session, command: Command<"approval_mode">): Decision {
  const { mode: next, persisted } = command;
  if (!approvalModeAllowed(next, session.fixed.securityMode)) {
    return refused(session, trustGate());
  }
  const draft = new Draft(session, command);
  const previous = session.chosen.approvalMode;
  if (next !== previous) {
    draft.emit("approval_mode_changed", { previous, next, persisted }, callerStamp(command.actor));
  }
  return draft.accept();
}

export function trustGate(): Refusal {
  return refusal("trust_gate", { errorKind: "auth_env_error" });
}

/** Reported by whoever runs the sandbox; the session only keeps and shows it. */
export function sandbox(session: Session, command: Command<"sandbox">): Decision {
  const draft = new Draft(session, command);
  const { state } = command;
  if (state !== session.connection.sandboxState) draft.emit("sandbox_changed", { state });
  return draft.accept();
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

export function setBudget(session: Session, command: Command<"set_budget">): Decision {
  const { budgetMicro: to } = command;
  if (to !== null && !isCount(to)) {
    return refused(session, refusal("invalid_amount", { limit: MICRO_CREDITS_MAX }));
  }
  const draft = new Draft(session, command);
  const from = session.chosen.budgetMicro;
  if (to !== from) draft.emit("session_budget_changed", { from, to }, callerStamp(command.actor));
  return draft.accept();
}

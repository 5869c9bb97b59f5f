import { approvalMeaning } from "../../policy/risk.ts";
import type { SessionEvent } from "../event.ts";
import type { Chosen, Session, Surroundings } from "../state.ts";

/** Each of these changes exactly the field it names (P7). */
function choose(session: Session, change: Partial<Chosen>): Session {
  return { ...session, chosen: { ...session.chosen, ...change } };
}

export function metadataUpdated(session: Session, event: SessionEvent<"session_metadata_updated">) {
  const { displayName = null, titleSource } = event.data;
  return choose(session, {
    displayName,
    titleSource: displayName === null ? null : titleSource,
  });
}

export function modelSwitched(session: Session, { data }: SessionEvent<"model_switched">): Session {
  return choose(session, { modelConfig: { ...session.chosen.modelConfig, modelId: data.modelId } });
}

export function modelConfigChanged(session: Session, event: SessionEvent<"model_config_changed">) {
  return choose(session, { modelConfig: event.data.to });
}

/** The mode's meaning moves with it; it is one setting under two names. */
export function approvalModeChanged(
  session: Session,
  event: SessionEvent<"approval_mode_changed">,
) {
  const { next } = event.data;
  const connection = { ...session.connection, ...approvalMeaning(next) };
  return choose({ ...session, connection }, { approvalMode: next });
}

/** What was loaded just now is what is around: it has not drifted. */
export function skillsReloaded(session: Session, { data }: SessionEvent<"skills_reloaded">) {
  return choose(seen(session, { skills: data.to.hash }), { skills: data.to });
}

export function personaReloaded(session: Session, { data }: SessionEvent<"persona_reloaded">) {
  return choose(seen(session, { persona: data.to.hash }), { persona: data.to });
}

/** Another agent cannot continue under this one's name for the conversation. */
export function agentChanged(session: Session, { data }: SessionEvent<"active_agent_changed">) {
  const anew = { ...seen(session, { agent: null, model: null }), agentSessionId: null };
  return choose(anew, { activeAgent: data.to });
}

/** What somebody changed on purpose is known, and will not be told as news. */
function seen(session: Session, change: Partial<Surroundings>): Session {
  const { surroundings } = session;
  return { ...session, surroundings: surroundings && { ...surroundings, ...change } };
}

export function cwdChanged(session: Session, { data }: SessionEvent<"session_cwd_changed">) {
  return choose({ ...session, agentSessionId: null }, { currentCwd: data.to });
}

export function budgetChanged(session: Session, event: SessionEvent<"session_budget_changed">) {
  return choose(session, { budgetMicro: event.data.to });
}

export function sandboxChanged(session: Session, event: SessionEvent<"sandbox_changed">): Session {
  const sandboxState = event.data.state;
  const atMs = event._meta.serverTimestamp;
  const { connection } = session;
  if (sandboxState !== "ready") {
    const gone = sandboxState === "none";
    const times = gone ? { sandboxProvisionedAt: null, lastSandboxActivity: null } : {};
    return { ...session, connection: { ...connection, sandboxState, ...times } };
  }
  const times = { sandboxProvisionedAt: atMs, lastSandboxActivity: atMs };
  return { ...session, connection: { ...connection, sandboxState, ...times } };
}

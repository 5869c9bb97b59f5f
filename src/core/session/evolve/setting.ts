import { approvalMeaning } from "../../policy/risk.ts";
import type { AgentMode, SandboxState } from "../../turn.ts";
import type { SessionEvent } from "../event.ts";
import type { Chosen, Session, Surroundings } from "../state.ts";
import { audienceOf } from "../visibility.ts";

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

export function named(session: Session, { data }: SessionEvent<"session_named">): Session {
  return choose(session, { name: data.name });
}

export function modelSwitched(session: Session, { data }: SessionEvent<"model_switched">): Session {
  return choose(session, { modelConfig: { ...session.chosen.modelConfig, modelId: data.modelId } });
}

export function modelConfigChanged(session: Session, event: SessionEvent<"model_config_changed">) {
  return choose(session, { modelConfig: event.data.to });
}

/** The mode's meaning moves with it, unless it only follows what was chosen by another name. */
export function approvalModeChanged(
  session: Session,
  event: SessionEvent<"approval_mode_changed">,
) {
  const { next, isWordOnly = false } = event.data;
  const worded = choose(session, { approvalMode: next });
  if (isWordOnly) return worded;
  const { autonomyProfile, agentMode } = approvalMeaning(next);
  const moved = inAgentMode(worded, agentMode);
  return { ...moved, connection: { ...moved.connection, autonomyProfile } };
}

/** The wire's word, where another fits, has an event of its own before this one. */
export function autonomyProfileChanged(
  session: Session,
  event: SessionEvent<"autonomy_profile_changed">,
): Session {
  const { connection } = session;
  return { ...session, connection: { ...connection, autonomyProfile: event.data.to } };
}

export function agentModeChanged(
  session: Session,
  event: SessionEvent<"agent_mode_changed">,
): Session {
  return inAgentMode(session, event.data.to);
}

export function agentOptionChanged(
  session: Session,
  { data }: SessionEvent<"agent_option_changed">,
): Session {
  const { configId, value, category } = data;
  const { activeAgent: agent, agentOptions } = session.chosen;
  const option = { agent, value, category };
  return choose(session, { agentOptions: new Map(agentOptions).set(configId, option) });
}

/** Counts the same mode again: a client has chosen it once more. */
function inAgentMode(session: Session, agentMode: AgentMode): Session {
  const { connection, agentModeChoices = 0 } = session;
  const agentModeChosen = { agentModeChoices: agentModeChoices + 1 };
  return { ...session, ...agentModeChosen, connection: { ...connection, agentMode } };
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
  const side = { agentSessionId: null, agentOffer: null };
  const anew = { ...seen(session, { agent: null, model: null }), ...side };
  return choose(anew, { activeAgent: data.to });
}

/** What a client changed on purpose is known, so it is no drift. */
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

export function visibilityChanged(
  session: Session,
  { data }: SessionEvent<"session_visibility_changed">,
): Session {
  const { audience: _, ...rest } = session.chosen;
  const audience = audienceOf(data, session.fixed.createdBy);
  return { ...session, chosen: { ...rest, ...(audience && { audience }) } };
}

export function monthBudgetChanged(
  session: Session,
  event: SessionEvent<"session_month_budget_changed">,
) {
  return choose(session, { monthBudgetMicro: event.data.to });
}

/** One that is being made has its times from the beginning; one that is gone has none. */
export function sandboxChanged(session: Session, event: SessionEvent<"sandbox_changed">): Session {
  const { connection } = session;
  const sandboxState = event.data.state;
  const times = SANDBOX_TIMES[sandboxState](event._meta.serverTimestamp);
  return { ...session, connection: { ...connection, sandboxState, ...times } };
}

type SandboxTimes = Partial<
  Pick<Session["connection"], "sandboxProvisionedAt" | "lastSandboxActivity">
>;

const SANDBOX_TIMES: Readonly<Record<SandboxState, (atMs: number) => SandboxTimes>> = {
  none: () => ({ sandboxProvisionedAt: null, lastSandboxActivity: null }),
  provisioning: (atMs) => ({ sandboxProvisionedAt: null, lastSandboxActivity: atMs }),
  ready: (atMs) => ({ sandboxProvisionedAt: atMs, lastSandboxActivity: atMs }),
  timed_out: () => ({}),
};

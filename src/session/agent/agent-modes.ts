import type { AgentOffer, AgentSession } from "../../agent/agent.ts";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { type AgentAsking, wantsAsks } from "../../core/policy/asking.ts";
import { hasWord, isMode } from "../../core/policy/risk.ts";
import type { Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";

/** An agent's own modes: the one that it says it is in, and all that it offers, in its order. */
export interface AgentModes {
  readonly current: string | null;
  readonly ids: readonly string[];
}

/** What an agent reports of itself, beside what its session is set to. */
export interface AgentNow {
  readonly model: string | null;
  readonly modes: AgentModes;
  setMode(modeId: string): Promise<Result<void>>;
}

export function agentNow(agent: AgentSession | null): AgentNow | null {
  if (agent === null) return null;
  const { offer } = agent;
  const setMode = (modeId: string) => agent.setMode(offeredMode(offer, modeId));
  return { model: offer.model ?? null, modes: agentModes(offer), setMode };
}

/** Agents tell them as ACP's modes, or as an option like any other. */
export function agentModes({
  modes,
  configOptions,
}: Pick<AgentOffer, "modes" | "configOptions">): AgentModes {
  if (modes !== null) {
    const current = stringAt(modes, "currentModeId");
    return { current, ids: namesIn(modes.availableModes, "id") };
  }
  const option = configOptions.find(({ category }) => category === "mode");
  if (option === undefined) return { current: null, ids: [] };
  const current = stringAt(option, "currentValue");
  return { current, ids: namesIn(choicesOf(option.options), "value") };
}

/** The agent's own id for a mode; the mode itself if the agent has none for it. */
export function offeredMode(
  offer: Pick<AgentOffer, "modes" | "configOptions">,
  mode: string,
): string {
  const { ids } = agentModes(offer);
  return ids.includes(mode) ? mode : (ids.find((id) => isMode(id, mode)) ?? mode);
}

/**
 * The mode that an agent is in while no client has chosen one: the one that it first came in. One
 * that remembers may come back in any, so then it is the one that was known before. If none was, it
 * is the one that it comes in, unless that has a word of the wire, by which it may have been
 * chosen. Where the agent asks in one of its modes and is wanted to, it is that one.
 */
export function usualMode(
  { context, offer }: Pick<AgentSession, "context" | "offer">,
  known: string | null,
  asking: string | null = null,
): string | null {
  if (asking !== null) return asking;
  const { current, ids } = agentModes(offer);
  const isRemembered = context === "resumed" || context === "loaded";
  if (!isRemembered || current === null) return current;
  if (known !== null && ids.includes(known)) return known;
  return hasWord(current) ? (ids.find((id) => !hasWord(id)) ?? current) : current;
}

/** The mode in which it asks, if its profile names one, it has that, and the session wants it. */
export function askingMode(
  { offer }: Pick<AgentSession, "offer">,
  { mode }: AgentAsking,
  { securityMode }: Session["fixed"],
  isShared = false,
): string | null {
  const isOffered = mode !== null && agentModes(offer).ids.includes(mode);
  return isOffered && wantsAsks(securityMode, isShared) ? mode : null;
}

/**
 * The mode that an agent which has just come is put into; null leaves it in the one it is in. What
 * it went into by itself is its own affair while no client has chosen a mode, unless it asks
 * in one of its modes only.
 */
export function modeOnArrival(
  { offer }: Pick<AgentSession, "offer">,
  { connection, agentModeChoices = 0, agentUsualMode = null }: Session,
  usual: string | null,
  asking: string | null = null,
): string | null {
  if (connection.agentMode !== null) return connection.agentMode;
  if (asking !== null) return agentModes(offer).current === asking ? null : asking;
  const isKept = agentModeChoices === 0 && agentUsualMode !== null;
  return isKept || agentModes(offer).current === usual ? null : usual;
}

function namesIn(list: unknown, field: string): readonly string[] {
  return objectsIn(list).flatMap((one) => stringAt(one, field) ?? []);
}

/** Returns the choices of an option, those in groups too. */
export function choicesOf(options: unknown): readonly JsonObject[] {
  return objectsIn(options).flatMap((one) => {
    return Array.isArray(one.options) ? objectsIn(one.options) : [one];
  });
}

export function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

import type { AgentSession, ConnectRequest } from "../../agent/agent.ts";
import { type AgentUpdate, chunkText, parentToolCallId } from "../../core/agent-update.ts";
import type { Refusal } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import { agentModes } from "../agent/agent-modes.ts";
import type { SessionWorld } from "../world.ts";

// A session at an agent for one turn, which is stored nowhere and never resumed: for a question
// beside a session, and for a child of one.

/**
 * Sets it to its model, and so that it asks if it is to. Answers what the agent has refused:
 * then it must not get its prompt.
 */
export async function setThrowAway(
  world: Pick<SessionWorld, "settings">,
  session: AgentSession,
  { profile, asks }: Pick<ConnectRequest, "profile" | "asks">,
  modelId: string | null,
): Promise<Refusal | null> {
  if (modelId !== null) {
    const refused = await session.setModelConfig([{ setting: "modelId", value: modelId }]);
    if (refused !== null) return refused.refusal;
  }
  if (!asks) return null;
  const { mode, options } = world.settings.asking.get(profile) ?? ASKING_UNKNOWN;
  const { current, ids } = agentModes(session.offer);
  for (const [id, value] of Object.entries(options)) {
    const set = await session.setConfigOption(id, value);
    if (!set.ok) return set.refusal;
  }
  if (mode === null || !ids.includes(mode) || current === mode) return null;
  const set = await session.setMode(mode);
  return set.ok ? null : set.refusal;
}

/** What the agent itself says to whom it answers; null for all else. */
export function ownWords(update: AgentUpdate): string | null {
  const isChunk = update.sessionUpdate === "agent_message_chunk";
  const isOwn = isChunk && parentToolCallId(update) === null && !isRepeat(update);
  return isOwn ? chunkText(update) : null;
}

/** Whether it repeats a plan or a notice in words, which are no answer. */
function isRepeat(update: AgentUpdate): boolean {
  return isObject(update._meta) && update._meta.repeats !== undefined;
}

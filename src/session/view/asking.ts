import { ASKING_UNKNOWN, type AskingView, askingView } from "../../core/policy/asking.ts";
import { agentModes } from "../agent/agent-modes.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";

/** Whether the agent of a session asks before it acts, by what it has said of itself. */
export function askingNow(
  { settings }: Pick<SessionWorld, "settings">,
  { session, agent }: Pick<LiveSession, "agent" | "session">,
  /** The mode that it was last known to be in, where it is not there to say. */
  lastMode: string | null = null,
): AskingView {
  const { fixed, chosen, connection } = session;
  const asking = settings.asking.get(chosen.activeAgent) ?? ASKING_UNKNOWN;
  const { agentMode } = connection;
  if (agent === null) {
    const known = { chosen: agentMode, observed: lastMode, offered: null, options: null };
    return askingView(asking, fixed.securityMode, known);
  }
  const { current: observed, ids: offered } = agentModes(agent.offer);
  const options = new Map<string, unknown>();
  for (const { id, currentValue } of agent.offer.configOptions) {
    if (typeof id === "string") options.set(id, currentValue);
  }
  const known = { chosen: agentMode, observed, offered, options };
  return askingView(asking, fixed.securityMode, known);
}

/** What whoever comes to a session is told of it: nothing, where its agent is known to ask. */
export function askingDoubt(
  world: Pick<SessionWorld, "settings">,
  live: Pick<LiveSession, "agent" | "session">,
): { readonly asking?: AskingView } {
  const asking = askingNow(world, live);
  return asking.how === "unknown" || asking.how === "up_to_mode" ? { asking } : {};
}

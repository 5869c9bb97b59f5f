import { ASKING_UNKNOWN, type AskingView, askingView } from "../../core/policy/asking.ts";
import { type AgentModes, agentModes } from "../choice/agent-modes.ts";
import type { LiveSession } from "../live.ts";
import type { SessionWorld } from "../world.ts";

/** Whether the agent of a session asks before it acts, if these are the modes that it has. */
export function askingOf(
  { settings }: Pick<SessionWorld, "settings">,
  { session }: Pick<LiveSession, "session">,
  { current: observed, ids: offered }: AgentModes,
): AskingView {
  const { fixed, chosen, connection } = session;
  const asking = settings.asking.get(chosen.activeAgent) ?? ASKING_UNKNOWN;
  const modes = { chosen: connection.agentMode, observed, offered };
  return askingView(asking, fixed.securityMode, modes);
}

/** The same by what its agent, if it is there, has said of its modes. */
export function askingNow(
  world: Pick<SessionWorld, "settings">,
  live: Pick<LiveSession, "agent" | "session">,
): AskingView {
  const offer = live.agent?.offer ?? { modes: null, configOptions: [] };
  return askingOf(world, live, agentModes(offer));
}

/** What whoever comes to a session is told of it: nothing, where its agent is known to ask. */
export function askingDoubt(
  world: Pick<SessionWorld, "settings">,
  live: Pick<LiveSession, "agent" | "session">,
): { readonly asking?: AskingView } {
  const asking = askingNow(world, live);
  return asking.how === "unknown" || asking.how === "up_to_mode" ? { asking } : {};
}

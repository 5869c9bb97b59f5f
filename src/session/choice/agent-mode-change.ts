import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor, Command } from "../../core/session/command.ts";
import type { AgentMode } from "../../core/turn.ts";
import { changeIn } from "../actor/outcome.ts";
import { readied } from "../life/comeback.ts";
import type { LiveSession } from "../live.ts";
import type { Clock } from "../world.ts";
import { agentModes } from "./agent-modes.ts";

/**
 * Chooses the mode that a session's agent is in from its next turn on; answers the one before.
 * Only the agent knows which modes it has, so one is brought if there is none, and what it does
 * not offer is refused before anything is recorded. Its usual mode every agent has.
 */
export async function changeAgentMode(
  clock: Clock,
  live: LiveSession,
  mode: AgentMode,
  actor: Actor,
): Promise<Result<AgentMode>> {
  const command = (): Command<"agent_mode"> => {
    return { type: "agent_mode", atMs: clock.nowMs(), actor, mode };
  };
  const why = live.refusalOf(command()) ?? (mode === null ? null : await readied(live));
  if (why !== null) return { ok: false, refusal: why };
  const offered = isOffered(live, mode);
  if (!offered.ok) return offered;
  const outcome = await live.submit(command());
  if (outcome.refusal !== null) return { ok: false, refusal: outcome.refusal };
  const change = changeIn(outcome, "agent_mode_changed");
  return ok(change === null ? mode : change.from);
}

function isOffered({ agent }: LiveSession, mode: AgentMode): Result<void> {
  if (mode === null) return ok(undefined);
  if (agent === null) return fail("agent_gone", { exit: "before its modes were looked at" });
  const { ids } = agentModes(agent.offer);
  if (ids.includes(mode)) return ok(undefined);
  if (ids.length === 0) return fail("agent_unsupported", { method: "any modes" });
  return fail("agent_choice_unknown", { setting: "mode", choices: ids.join(", ") });
}

import type { AgentSession } from "../../agent/agent.ts";
import type { Refusal } from "../../core/error.ts";
import { type Ceiling, ceilingRefusal } from "../../core/policy/ceiling.ts";
import { modeOtherThanUsual } from "../../core/session/bounded.ts";
import type { Session } from "../../core/session/state.ts";
import { agentModes } from "../agent/agent-modes.ts";

/** A session and its agent, while it has one. */
export interface CheckedAgent {
  readonly session: Session;
  readonly agent?: Pick<AgentSession, "offer" | "setMode"> | null;
}

/**
 * Why the next turn may not run with the agent as it is; null if it may. What a session is set to
 * is one thing, and what its agent does another: it may have refused the model, and it may have
 * gone into another mode by itself. Of a mode it is put back, where no turn is at work.
 */
export async function agentRefusal(
  ceiling: Ceiling,
  { session, agent }: CheckedAgent,
): Promise<Refusal | null> {
  // One that is still to come is looked at when it has come.
  if (agent == null) return null;
  const { model = null } = agent.offer;
  const { current } = agentModes(agent.offer);
  const agentMode = modeOtherThanUsual(session, current);
  const why = ceilingRefusal(ceiling, { model, agentMode });
  if (why === null || why.details.rule !== "agent_mode") return why;
  const usual = session.connection.agentMode ?? session.agentUsualMode ?? null;
  if (session.running !== null || usual === null) return why;
  const back = await agent.setMode(usual);
  return back.ok ? ceilingRefusal(ceiling, { model }) : why;
}

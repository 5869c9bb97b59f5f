import { adHocProfile } from "../../agent/profile/command-line.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { agentProfiles, homeOf } from "../home.ts";
import type { Chosen } from "./options.ts";

export interface ChosenAgents {
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  readonly defaultAgent: string;
}

/** Which agents there are, and which is meant where none is named. */
export async function chooseAgents(chosen: Chosen): Promise<Result<ChosenAgents>> {
  const known = await agentProfiles(homeOf(process.env));
  if (!known.ok) return known;
  const picked = pickAgent(chosen, known.value);
  if (!picked.ok) return picked;
  const { name: defaultAgent, own } = picked.value;
  const all = [...known.value, ...own].map(
    ([name, one]) => [name, withTimes(one, chosen)] as const,
  );
  return ok({ profiles: new Map(all), defaultAgent });
}

/** The one that was named, or was given as a command, or else the one that is always there. */
function pickAgent(
  { agent, "agent-command": command }: Chosen,
  known: ReadonlyMap<string, AgentProfile>,
): Result<{ readonly name: string; readonly own: readonly [string, AgentProfile][] }> {
  if (agent !== null && command !== null) {
    const reason = "an agent is given by name or by command, and not by both";
    return fail("invalid_server_config", { path: "--agent-command", reason });
  }
  if (command !== null) {
    const profile = adHocProfile(command);
    if (!profile.ok) return profile;
    return ok({ name: profile.value.name, own: [[profile.value.name, profile.value]] });
  }
  const name = agent ?? "echo";
  if (known.has(name)) return ok({ name, own: [] });
  return fail("agent_unknown", { profile: name, known: [...known.keys()].join(", ") });
}

/** Times that were chosen for all agents count for each. */
function withTimes(profile: AgentProfile, chosen: Chosen): AgentProfile {
  const callMs = chosen["initialize-timeout-ms"];
  const restoreMs = chosen["session-restore-timeout-ms"];
  const idleMs = chosen["channel-idle-timeout-ms"];
  const limits = {
    ...profile.limits,
    ...(callMs !== null && { callMs, startMs: callMs }),
    ...(restoreMs !== null && { restoreMs }),
    ...(idleMs !== null && { idleMs }),
  };
  return { ...profile, limits };
}

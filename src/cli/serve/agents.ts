import { totalmem } from "node:os";
import type { Agents } from "../../agent/agent.ts";
import type { AgentKeeper } from "../../agent/keeper.ts";
import { openAgents } from "../../agent/open.ts";
import { inheritedEnvironment } from "../../agent/process/environment.ts";
import { adHocProfile } from "../../agent/profile/command-line.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { AGENT_MEMORY_PERCENT_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { LocalShell } from "../../session/side/local-shell.ts";
import type { ShellRunner } from "../../session/side/shell-command.ts";
import type { SecretGuard } from "../../store/index.ts";
import { agentProfiles, homeOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { Chosen } from "./options.ts";
import type { DataFolder } from "./settings.ts";

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

const MEBIBYTE = 1_024 * 1_024;

/** What all agents together may take: what was chosen, else their share; null is no limit. */
export function agentMemoryBytes(chosenMb: number | null, machineBytes: number): number | null {
  if (chosenMb === 0) return null;
  if (chosenMb !== null) return chosenMb * MEBIBYTE;
  return Math.floor((machineBytes / 100) * AGENT_MEMORY_PERCENT_MAX);
}

/** What there is: in a container what that may have, where the system tells. */
export function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

interface OpenedHands {
  readonly agents: Agents;
  readonly keeper: AgentKeeper;
  readonly shell: ShellRunner;
}

/** Agents and shell, with whatever an earlier server left of them ended first (P5). */
export async function openHands(
  profiles: ReadonlyMap<string, AgentProfile>,
  memoryBytesMax: number | null,
  { folder, own }: DataFolder,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<OpenedHands> {
  const { agents, keeper, orphans, commandMarks } = await openAgents({
    folder,
    profiles,
    env: process.env,
    memoryBytesMax,
    own,
    watch: {
      fault: (kind, count, sample) => log("agent fault", { kind, count, sample }),
      secret: (value) => guard.know(value),
    },
  });
  if (orphans.ended > 0) log("orphans ended", { count: orphans.ended });
  const shell = new LocalShell(inheritedEnvironment(process.env), commandMarks);
  return { agents, keeper, shell };
}

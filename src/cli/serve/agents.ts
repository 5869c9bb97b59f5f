import { totalmem } from "node:os";
import type { Agents } from "../../agent/agent.ts";
import type { Credentials } from "../../agent/credential/credentials.ts";
import type { AgentKeeper } from "../../agent/keeper.ts";
import { KnownAgents } from "../../agent/known-agents.ts";
import { openAgents } from "../../agent/open.ts";
import { inheritedEnvironment } from "../../agent/process/environment.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { AgentUsers } from "../../agent/user/users.ts";
import { AGENT_MEMORY_PERCENT_MAX, AGENT_PROCESSES_MAX } from "../../core/limits.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { LocalShell } from "../../session/side/local-shell.ts";
import type { ShellRunner } from "../../session/side/shell-command.ts";
import type { SecretGuard } from "../../store/index.ts";
import type { OpenSecrets } from "./credentials.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";
import type { DataFolder } from "./settings.ts";

const MEBIBYTE = 1_024 * 1_024;

/** The memory limit of all agents: the option, else a share of the machine. Null is no limit. */
export function agentMemoryBytes(optionMb: number | null, machineBytes: number): number | null {
  if (optionMb === 0) return null;
  if (optionMb !== null) return optionMb * MEBIBYTE;
  return Math.floor((machineBytes / 100) * AGENT_MEMORY_PERCENT_MAX);
}

/** The memory of the machine, or of the container if the system knows its limit. */
export function machineMemoryBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

interface AgentsAndShell {
  readonly agents: Agents;
  readonly keeper: AgentKeeper;
  readonly knownAgents: KnownAgents;
  readonly shell: ShellRunner;
}

/** The users and keys of agents. */
interface AgentsOf {
  readonly users: AgentUsers;
  readonly credentials: Credentials;
  readonly secrets: OpenSecrets;
}

/** Opens agents and shell, and first ends the processes that an earlier server left (P5). */
export async function openAgentsAndShell(
  profiles: ReadonlyMap<string, AgentProfile>,
  options: ServeOptions,
  { folder, own, roots }: DataFolder,
  { users, credentials, secrets }: AgentsOf,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<AgentsAndShell> {
  const { agents, keeper, orphans, commandMarks } = await openAgents({
    folder,
    profiles,
    env: process.env,
    memoryBytesMax: agentMemoryBytes(options["agent-memory-max-mb"], machineMemoryBytes()),
    processesMax: options["max-agents"] ?? AGENT_PROCESSES_MAX,
    own,
    roots,
    users,
    credentials,
    watch: {
      fault: (kind, count, sample) => log("agent fault", { kind, count, sample }),
      secret: (value) => guard.know(value),
      secretGone: (value) => secrets.retire(value),
    },
  });
  if (orphans.ended > 0) log("orphans ended", { count: orphans.ended });
  const { account } = users;
  const environment = inheritedEnvironment(process.env, account);
  const shell = new LocalShell(environment, commandMarks, account);
  const knownAgents = new KnownAgents([...profiles.values()], process.env, SYSTEM_CLOCK);
  return { agents, keeper, knownAgents, shell };
}

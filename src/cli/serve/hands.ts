import type { Agents } from "../../agent/agent.ts";
import type { AgentKeeper } from "../../agent/keeper.ts";
import { openAgents } from "../../agent/open.ts";
import { inheritedEnvironment } from "../../agent/process/environment.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { LocalShell } from "../../session/side/local-shell.ts";
import type { ShellRunner } from "../../session/side/shell-runner.ts";
import type { SecretGuard } from "../../store/index.ts";
import type { ServerLog } from "./log.ts";
import type { DataFolder } from "./own-folders.ts";

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

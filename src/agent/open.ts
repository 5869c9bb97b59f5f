import { join } from "node:path";
import type { Agents } from "./agent.ts";
import { type HostWatch, startHost } from "./bridge/start.ts";
import type { AgentKeeper } from "./keeper.ts";
import { AgentPool } from "./pool/pool.ts";
import { CommandMarks, AgentMarks, endOrphans, type OrphanReport } from "./process/marks.ts";
import type { AgentProfile } from "./profile/profile.ts";
import { OwnFolders } from "./workspace/location.ts";

export interface AgentSetting {
  /** Where notes of running agents are kept; servers may share it. */
  readonly folder: string;
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** The server's environment, of which each profile tells what its agent gets. */
  readonly env: NodeJS.ProcessEnv;
  /** All agents together may take this much; null where nobody counts. */
  readonly memoryBytesMax: number | null;
  readonly watch: HostWatch;
  /** What of the server's stays closed to agents, wherever they work. */
  readonly own?: OwnFolders;
}

export interface OpenedAgents {
  readonly agents: Agents;
  /** For whoever runs them. */
  readonly keeper: AgentKeeper;
  /** What earlier servers had left behind, and is ended now. */
  readonly orphans: OrphanReport;
  /** For what else this server starts: it is found and ended like an agent. */
  readonly commandMarks: CommandMarks;
}

/** Agents for one server. What a server before it has left behind is ended first (P5). */
export async function openAgents(setting: AgentSetting): Promise<OpenedAgents> {
  const { folder, profiles, env, memoryBytesMax, watch, own = OwnFolders.NONE } = setting;
  const marksFolder = join(folder, "running-agents");
  const orphans = await endOrphans(marksFolder);
  const marks = new AgentMarks(marksFolder);
  const agents = new AgentPool({
    profiles,
    start: (profile, cwd, signal, tap) =>
      startHost({ profile, cwd, marks, env, own, tap }, watch, signal),
    memoryBytesMax,
    nowMs: () => performance.now(),
  });
  return { agents, keeper: agents.keeper, orphans, commandMarks: new CommandMarks(marks) };
}

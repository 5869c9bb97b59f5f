import { join } from "node:path";
import type { Agents } from "./agent.ts";
import { type HostObserver, startHost } from "./bridge/start.ts";
import type { Credentials } from "./credential/credentials.ts";
import type { AgentKeeper } from "./keeper.ts";
import { AgentPool } from "./pool/pool.ts";
import { AgentMarks, CommandMarks, endOrphans, type OrphanReport } from "./process/marks.ts";
import type { AgentProfile } from "./profile/profile.ts";
import { AgentUsers } from "./user/users.ts";
import { OwnFolders } from "./workspace/location.ts";

export interface AgentsOptions {
  /** Holds the marks of running agents; servers may share it. */
  readonly folder: string;
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** The server's environment; each profile says what its agent gets of it. */
  readonly env: NodeJS.ProcessEnv;
  /** The limit of all agents together; null for none. */
  readonly memoryBytesMax: number | null;
  /** Processes at a time; the usual limit if it is left out. */
  readonly processesMax?: number;
  readonly watch: HostObserver;
  /** The server's own folders, which stay closed to agents in every workspace. */
  readonly own?: OwnFolders;
  /** Real paths of folders that are open to agents beside their workspaces. */
  readonly roots?: readonly string[];
  /** The users under which agents run; the server's own by default. */
  readonly users?: AgentUsers;
  /** Finds the keys and homes of users. */
  readonly credentials?: Credentials;
}

export interface OpenedAgents {
  readonly agents: Agents;
  /** For operators. */
  readonly keeper: AgentKeeper;
  /** The processes that earlier servers left behind, and that were killed now. */
  readonly orphans: OrphanReport;
  /** Marks for shell commands of this server, so that they are found and killed like agents. */
  readonly commandMarks: CommandMarks;
}

/** Opens the agents of one server. It kills first what an earlier server left behind (P5). */
export async function openAgents(options: AgentsOptions): Promise<OpenedAgents> {
  const { folder, profiles, env, memoryBytesMax, watch } = options;
  const { own = OwnFolders.NONE, roots = [], users = new AgentUsers() } = options;
  const marksFolder = join(folder, "running-agents");
  const orphans = await endOrphans(marksFolder);
  const marks = new AgentMarks(marksFolder);
  const agents = new AgentPool({
    profiles,
    start: async ({ profile, workspace: cwd, credentials }, signal, tap) => {
      const checked = await users.checkWorkspace(profile.account, cwd);
      if (!checked.ok) return checked;
      const files = users.filesOf(profile.account);
      const options = { profile, cwd, marks, env, own, roots, files, tap, credentials };
      return startHost(options, watch, signal);
    },
    ...(options.credentials && { credentials: options.credentials }),
    memoryBytesMax,
    ...(options.processesMax !== undefined && { processesMax: options.processesMax }),
    nowMs: () => performance.now(),
  });
  return { agents, keeper: agents.keeper, orphans, commandMarks: new CommandMarks(marks) };
}

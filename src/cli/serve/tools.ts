import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentMarks, endOrphans } from "../../agent/process/marks.ts";
import type { AgentUsers } from "../../agent/user/users.ts";
import type { OwnFolders } from "../../agent/workspace/location.ts";
import { ok, type Result } from "../../core/result.ts";
import { BUILT_IN_NAMES } from "../../core/slash/commands.ts";
import { LoaderMemory } from "../../loader/kept-loads.ts";
import { FilesLoader, type Loader, type LoadScope } from "../../loader/loader.ts";
import type { Workspaces } from "../../server/workspaces.ts";
import type { SecretGuard } from "../../store/index.ts";
import { type OpenTools, openTools } from "../../tool/open.ts";
import type { Tools } from "../../tool/tool.ts";
import { homeOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { McpConfig } from "./operator-files.ts";
import type { DataFolder } from "./settings.ts";

/** Opens the tools of a server, and first ends the processes that an earlier one left (P5). */
export async function openServerTools(
  { servers, folder }: McpConfig,
  { folder: dataFolder, own }: DataFolder,
  users: AgentUsers,
  guard: SecretGuard,
  { log }: ServerLog,
): Promise<OpenTools> {
  const marksFolder = join(dataFolder, "running-tools");
  const orphans = await endOrphans(marksFolder);
  if (orphans.ended > 0) log("orphans ended", { count: orphans.ended });
  return openTools({
    servers,
    folder,
    env: process.env,
    marks: new AgentMarks(marksFolder),
    own,
    users,
    secret: (value) => guard.know(value),
    log,
  });
}

/** The skills that come with Fermata. The path is the same from the sources and from the build. */
const BUNDLED = fileURLToPath(new URL("../../../skills", import.meta.url));

/** Loads skills and personas: bundled ones, the operator's, and those of trusted workspaces. */
export function openLoader(
  env: NodeJS.ProcessEnv,
  workspaces: Workspaces,
  tools: Tools,
  users: AgentUsers,
  own: OwnFolders,
): Loader {
  const { account } = users;
  const fileFor = account === null ? null : (real: string) => users.fileFor(account, real);
  const rights = { isClosed: own.isUnreadable, fileFor };
  const kept = new LoaderMemory();
  // If the store cannot say whether a workspace is trusted, the load fails.
  const loaderFor = async ({ tenantId, workspaceCwd }: LoadScope): Promise<Result<Loader>> => {
    const trusted = await workspaces.isTrusted(tenantId, workspaceCwd);
    if (!trusted.ok) return trusted;
    const loader = new FilesLoader({
      bundled: BUNDLED,
      userFolder: homeOf(env),
      platform: process.platform,
      env,
      tools: async (wanted) => (await tools.list(wanted)).map(({ name }) => name),
      reserved: BUILT_IN_NAMES,
      rights,
      isTrusted: async () => trusted.value,
      kept,
    });
    return ok(loader);
  };
  return {
    skills: async (scope) => {
      const loader = await loaderFor(scope);
      return loader.ok ? loader.value.skills(scope) : loader;
    },
    persona: async (scope) => {
      const loader = await loaderFor(scope);
      return loader.ok ? loader.value.persona(scope) : loader;
    },
  };
}

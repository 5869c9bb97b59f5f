import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentMarks, endOrphans } from "../../agent/process/marks.ts";
import { MCP_CONFIG_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { BUILT_IN_NAMES } from "../../core/slash/commands.ts";
import { FilesLoader, type Loader, type LoadPlace } from "../../loader/loader.ts";
import type { StoredWorkspaces } from "../../server/workspaces.ts";
import type { SecretGuard } from "../../store/index.ts";
import { type McpServer, readMcpServers } from "../../tool/mcp/config.ts";
import { type OpenTools, openTools } from "../../tool/open.ts";
import type { Tools } from "../../tool/tool.ts";
import { homeOf } from "../home.ts";
import type { ServerLog } from "./log.ts";
import type { Chosen } from "./options.ts";
import type { DataFolder } from "./settings.ts";

/** Which MCP servers there are, and where the file is that names them. */
export interface ChosenMcp {
  readonly servers: readonly McpServer[];
  readonly folder: string;
}

/** The usual file need not be there; one that was named has to be. */
export async function chooseMcp(
  { "mcp-config": named }: Chosen,
  env: NodeJS.ProcessEnv,
): Promise<Result<ChosenMcp>> {
  const path = resolve(named ?? join(homeOf(env), "mcp.json"));
  const folder = dirname(path);
  try {
    const { size } = await stat(path);
    if (size > MCP_CONFIG_BYTES_MAX) {
      const reason = `it has more than ${MCP_CONFIG_BYTES_MAX} bytes`;
      return fail("invalid_server_config", { path, reason });
    }
    const servers = readMcpServers(await readFile(path, "utf8"), path);
    return servers.ok ? ok({ servers: servers.value, folder }) : servers;
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    if (isMissing && named === null) return ok({ servers: [], folder });
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_server_config", { path, reason });
  }
}

/** The tools of a server, with whatever an earlier one left of them ended first (P5). */
export async function openServerTools(
  { servers, folder }: ChosenMcp,
  { folder: dataFolder, own }: DataFolder,
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
    secret: (value) => guard.know(value),
    log,
  });
}

/** The skills that come with Fermata: at the same place from here, built or not. */
const BUNDLED = fileURLToPath(new URL("../../../skills", import.meta.url));

/** Skills and personas from files: ours, this user's, and those of workspaces that are trusted. */
export function openLoader(
  env: NodeJS.ProcessEnv,
  workspaces: StoredWorkspaces,
  tools: Tools,
): Loader {
  const surroundings = {
    platform: process.platform,
    env,
    tools: async (wanted: readonly string[]) => (await tools.list(wanted)).map(({ name }) => name),
  };
  const settings = { bundled: BUNDLED, userFolder: homeOf(env), surroundings };
  // Where nobody knows whether a place is trusted, nothing is loaded in place of everything.
  const filesOf = async ({ tenantId, workspaceCwd }: LoadPlace): Promise<Result<Loader>> => {
    const trusted = await workspaces.isTrusted(tenantId, workspaceCwd);
    if (!trusted.ok) return trusted;
    const isTrusted = async () => trusted.value;
    return ok(new FilesLoader({ ...settings, reserved: BUILT_IN_NAMES, isTrusted }));
  };
  return {
    skills: async (place) => {
      const files = await filesOf(place);
      return files.ok ? files.value.skills(place) : files;
    },
    persona: async (place) => {
      const files = await filesOf(place);
      return files.ok ? files.value.persona(place) : files;
    },
  };
}

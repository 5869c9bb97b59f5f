import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentMarks, endOrphans } from "../../agent/process/marks.ts";
import { type AgentProfile, userOf } from "../../agent/profile/profile.ts";
import type { SystemUser } from "../../agent/user/account.ts";
import type { AgentUsers } from "../../agent/user/users.ts";
import { OwnFolders } from "../../agent/workspace/location.ts";
import { ok, type Result } from "../../core/result.ts";
import { BUILT_IN_NAMES } from "../../core/slash/commands.ts";
import { LoaderMemory } from "../../loader/kept-loads.ts";
import { FilesLoader, type Loader, type LoadScope } from "../../loader/loader.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import type { Workspaces } from "../../server/workspaces.ts";
import type { SecretGuard } from "../../store/index.ts";
import { type OpenTools, openTools } from "../../tool/open.ts";
import type { Tools } from "../../tool/tool.ts";
import { RunFolder } from "../../tool/toolbox/run-folder.ts";
import { ToolboxServer } from "../../tool/toolbox/server.ts";
import type { Toolboxes } from "../../tool/toolbox.ts";
import { homeOf } from "../home.ts";
import type { OpenSecrets } from "./credentials.ts";
import type { ServerLog } from "./log.ts";
import type { McpConfig } from "./operator-files.ts";
import type { ServeOptions } from "./options.ts";

interface ToolParts {
  readonly options: Pick<ServeOptions, "run-dir">;
  readonly mcp: McpConfig;
  readonly profiles: ReadonlyMap<string, AgentProfile>;
  /** The data directory. */
  readonly folder: string;
  readonly own: OwnFolders;
  readonly users: AgentUsers;
  readonly guard: SecretGuard;
  readonly secrets: Pick<OpenSecrets, "retire">;
  readonly log: ServerLog;
}

export interface OpenedTools {
  readonly tools: OpenTools;
  readonly toolboxes: Toolboxes & { close(): Promise<void> };
  /** The server's own folders, with its run folder. */
  readonly own: OwnFolders;
}

/**
 * Opens the tools of a server, for skills and for agents, and first ends the processes that an
 * earlier one left (P5).
 */
export async function openServerTools(parts: ToolParts): Promise<OpenedTools> {
  const { users, guard, log } = parts;
  const { servers, folder } = parts.mcp;
  const marksFolder = join(parts.folder, "running-tools");
  const orphans = await endOrphans(marksFolder);
  if (orphans.ended > 0) log.log("orphans ended", { count: orphans.ended });
  const opened = await openToolboxes(parts);
  const tools = await openTools({
    servers,
    folder,
    env: process.env,
    marks: new AgentMarks(marksFolder),
    own: opened.own,
    users,
    secret: (value) => guard.know(value),
    log: log.log,
  });
  return { tools, ...opened };
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

/**
 * Opens the tools that the server has for agents. Where that fails, sessions go on without them,
 * and say why.
 */
async function openToolboxes(parts: ToolParts): Promise<Omit<OpenedTools, "tools">> {
  const { options, folder: dataFolder, own, log } = parts;
  const accounts = accountsOf(parts.profiles);
  const isShared = accounts.size > 0;
  const chosen = options["run-dir"];
  // A path for a socket is short, and that of a person's temporary folder need not be.
  const parents = chosen === null ? [tmpdir(), "/tmp"] : [resolve(chosen)];
  const notes = join(dataFolder, "run-folders");
  const folder = await RunFolder.make({ parents, notes, isShared }).catch(String);
  if (typeof folder === "string") return withoutTools(folder);
  const closed = [...own.paths.closed, await realpath(folder.path)];
  const reachable = await whoReaches(folder, accounts, parts.users);
  try {
    const toolboxes = await ToolboxServer.listen({
      folder,
      isShared,
      userOf: (agent) => userOrReason(parts.profiles.get(agent), reachable),
      secret: (value) => parts.guard.know(value),
      secretGone: (value) => parts.secrets.retire(value),
      clock: SYSTEM_CLOCK,
      log: log.log,
    });
    return { toolboxes, own: OwnFolders.of({ ...own.paths, closed }) };
  } catch (thrown) {
    await folder.remove();
    return withoutTools(String(thrown));
  }

  function withoutTools(because: string) {
    log.log("no tools for agents", { because });
    const open = () => `the server cannot offer tools: ${because}`;
    return { toolboxes: { open, close: async () => {} }, own };
  }
}

/** The users of agents that are not the server's own. */
function accountsOf(profiles: ToolParts["profiles"]): ReadonlySet<SystemUser | number> {
  const users = [...profiles.values()].flatMap((profile) => {
    const user = profile.account ?? uidOf(profile);
    return user === undefined || user === OWN_UID ? [] : [user];
  });
  return new Set(users);
}

const OWN_UID = process.getuid?.();

function uidOf(profile: AgentProfile): number | undefined {
  return userOf(profile)?.uid ?? OWN_UID;
}

/** The ids of those that can start the relay. Of ids without an account that is not known. */
async function whoReaches(
  { relay }: RunFolder,
  accounts: ReadonlySet<SystemUser | number>,
  users: AgentUsers,
): Promise<ReadonlySet<number>> {
  const programs = await Promise.all([relay, process.execPath].map((path) => realpath(path)));
  const reaching = [...accounts].map(async (account) => {
    if (typeof account === "number") return account;
    const files = programs.map((program) => users.fileFor(account, program));
    return (await Promise.all(files)).includes(null) ? [] : account.uid;
  });
  return new Set((await Promise.all(reaching)).flat());
}

function userOrReason(
  profile: AgentProfile | undefined,
  reachable: ReadonlySet<number>,
): number | string {
  if (profile === undefined) return "its agent is not known any more";
  if (profile.mcp === "withheld") {
    return `${profile.title} does not offer the tools of MCP servers to its model`;
  }
  const uid = uidOf(profile);
  if (uid === undefined) return "this system does not say whose process connects";
  if (uid === OWN_UID || reachable.has(uid)) return uid;
  return `the user of ${profile.title} can run neither the server's Node.js nor its run folder`;
}

import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import type { AccessFault, OwnFiles } from "../../agent/user/access.ts";
import { findAccount, launchable, type SystemUser } from "../../agent/user/account.ts";
import { AgentUsers } from "../../agent/user/users.ts";
import { USER_CHECKED_ENTRIES_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { homeOf } from "../home.ts";
import type { OperatorExtensions } from "./extensions.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";
import { storeFilesOf } from "./store-module.ts";

type Profiles = ReadonlyMap<string, AgentProfile>;

interface AgentUserOptions {
  readonly options: ServeOptions;
  readonly profiles: Profiles;
  /** The data directory. */
  readonly folder: string;
  readonly workspaces: readonly string[];
  readonly extensions: OperatorExtensions;
  readonly env: NodeJS.ProcessEnv;
  readonly log: ServerLog;
}

/** What the server needs of the users of its agents. */
export interface OpenedUsers {
  readonly users: AgentUsers;
  /** Each with its account, where it has one. */
  readonly profiles: Profiles;
}

/** A sentence for servers whose callers have roles, and whose agents have all rights. */
export function sharedUserNote({ account }: AgentUsers, needsToken: boolean): string | null {
  if (account !== null || !needsToken) return null;
  const advice = "so roles, credits and audit are advice: see --agent-user.";
  return `Agents run as the server's user, ${advice}`;
}

/**
 * Finds the users that agents are to run as, and checks as each of them what it can reach: its
 * home and the workspaces, and nothing of the server's own. It refuses the start with the command
 * that mends what is wrong.
 */
export async function openAgentUsers(needs: AgentUserOptions): Promise<Result<OpenedUsers>> {
  const account = await sharedAccount(needs.options);
  if (!account.ok) return account;
  const profiles = await withAccounts(needs.profiles, account.value);
  if (!profiles.ok) return profiles;
  const users = new AgentUsers(account.value);
  const checked = await checkAll(users, { ...needs, profiles: profiles.value });
  if (checked.ok) return ok({ users, profiles: profiles.value });
  await users.close();
  return checked;
}

/** The user of --agent-user; null for the server's own. */
export async function sharedAccount({
  "agent-user": name,
  "agent-home": home,
}: Pick<ServeOptions, "agent-user" | "agent-home">): Promise<Result<SystemUser | null>> {
  if (name === null && home !== null) {
    return invalid("--agent-home", "it is for the user of --agent-user, which is missing");
  }
  if (home !== null && !isAbsolute(home)) return invalid("--agent-home", "it is no absolute path");
  return name === null ? ok(null) : accountFor("--agent-user", name, home);
}

function invalid(path: string, reason: string): Result<never> {
  return fail("invalid_server_config", { path, reason });
}

async function accountFor(
  path: string,
  name: string,
  home: string | null,
): Promise<Result<SystemUser>> {
  const found = await findAccount(name, home);
  const able = typeof found === "string" ? found : await launchable(found);
  return typeof able === "string" ? invalid(path, able) : ok(able);
}

/** The user of a profile, else that of the server's option. */
async function withAccounts(
  profiles: Profiles,
  shared: SystemUser | null,
): Promise<Result<Profiles>> {
  const found = new Map<string, AgentProfile>();
  for (const [name, profile] of profiles) {
    const own = await ownAccount(profile, shared !== null);
    if (!own.ok) return own;
    found.set(name, { ...profile, account: own.value ?? shared });
  }
  return ok(found);
}

/**
 * Null if the profile names no user. Where agents may share the server's user, ids that cannot be
 * used fail when that agent is started, as an agent that is not installed does.
 */
export async function ownAccount(
  { name, user, uid, gid, env }: AgentProfile,
  isRequired: boolean,
): Promise<Result<SystemUser | null>> {
  if (user === null && uid === null && gid === null) return ok(null);
  if (user === null && (uid === null || gid === null)) {
    if (!isRequired) return ok(null);
    return invalid(`agent "${name}"`, "with --agent-user it needs both uid and gid, or user");
  }
  const home = typeof env.HOME === "string" ? env.HOME : null;
  const account = await accountFor(`agent "${name}"`, user ?? `${uid}:${gid}`, home);
  return account.ok || user !== null || isRequired ? account : ok(null);
}

async function checkAll(users: AgentUsers, needs: AgentUserOptions): Promise<Result<void>> {
  const { account } = users;
  for (const { account: own } of needs.profiles.values()) {
    // From now on the marks of its processes can be read (P5). This starts no process.
    if (own !== null) users.userFilesOf(own);
  }
  // Without --agent-user, ids alone are as trusted as they always were.
  const named = [...needs.profiles.values()].flatMap((profile) =>
    profile.account !== null && (profile.user !== null || account !== null) ? [profile] : [],
  );
  const all = new Map(named.map((profile) => [profile.account, profile.user !== null]));
  if (account !== null) all.set(account, true);
  const hasOthers = [...needs.profiles.values()].some(({ account: own }) => own !== null);
  if (account === null && !hasOthers) return DONE;
  if (process.argv.some((word) => /^--token(?:=|$)/.test(word))) {
    const reason = "every user of the machine sees it in the list of processes; set FERMATA_TOKEN";
    return invalid("--token beside a user for agents", reason);
  }
  const own = await ownFiles(needs);
  for (const [one, needsHome] of all) {
    const checked = one === null ? DONE : await checkAccount(users, one, own, needsHome);
    if (!checked.ok) return checked;
  }
  return account === null ? DONE : checkOwnWorkspaces(users, account, needs);
}

async function checkAccount(
  users: AgentUsers,
  account: SystemUser,
  own: OwnFiles,
  needsHome: boolean,
): Promise<Result<void>> {
  const files = users.userFilesOf(account);
  const { home } = account;
  if (home === null && needsHome) {
    const advice = "usermod -d DIR, --agent-home DIR, or HOME in the profile's env";
    return invalid(`user "${account.name}"`, `it has no home directory; name one with ${advice}`);
  }
  const homeFault = home === null ? ok(null) : await files.homeFault(home);
  const fault =
    homeFault.ok && homeFault.value === null ? await files.exposureFault(own) : homeFault;
  if (!fault.ok) return fault;
  return fault.value === null ? DONE : unsafe(account, fault.value);
}

/** Agents that can only read may be what the operator wants, so that is only logged. */
async function checkOwnWorkspaces(
  users: AgentUsers,
  account: SystemUser,
  { workspaces, log }: AgentUserOptions,
): Promise<Result<void>> {
  for (const workspace of workspaces) {
    const path = await realpath(workspace).catch(() => resolve(workspace));
    const access = await users.userFilesOf(account).workspaceAccess(path);
    if (!access.ok) return access;
    const { fault, readOnly } = access.value;
    if (fault !== null) return unsafe(account, fault);
    if (readOnly !== null) log.log("workspace is read-only to agents", { ...readOnly });
  }
  return DONE;
}

function unsafe({ name }: SystemUser, { path, reason, command }: AccessFault): Result<never> {
  return invalid(`user "${name}"`, `${path}: ${reason}. To mend it, run: ${command}`);
}

/** The program itself; the path is the same from the sources and from the build. */
const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));

/** What the server keeps for itself, and what it loads. */
async function ownFiles({ options, folder, extensions, env }: AgentUserOptions): Promise<OwnFiles> {
  const home = homeOf(env);
  const folders = await Promise.all([...new Set([home, resolve(folder)])].map(entriesOf));
  const { "tls-key": key, "tls-cert": cert, config, "mcp-config": mcp, prices } = options;
  const jwks = options["jwt-jwks"];
  const store = storeFilesOf(options.store, home);
  const loaded = [
    ...[PACKAGE, dirname(fileURLToPath(import.meta.url)), join(PACKAGE, "node_modules")],
    ...[process.execPath, join(home, "skills"), cert, prices, jwks],
    ...[options["agent-homes"], options["secrets-dir"], options.web],
    ...(store === null ? [] : [store.file, store.folder]),
    ...(store?.isPackage ? await filesBelow(store.folder) : []),
    ...(await extensionFiles(extensions, home)),
  ];
  return {
    // Folders that do not exist yet count, too: the agents' user must not make them first.
    secret: [
      ...folders.flat(),
      ...(await existing([key, config, mcp, extensions.file])),
      ...(await filesBelow(options["secrets-dir"])),
    ],
    loaded: [
      ...(await existing(loaded)),
      ...(await filesBelow(join(home, "skills"))),
      ...(await filesBelow(options.web)),
    ],
    owner: process.getuid?.() ?? 0,
  };
}

/**
 * All code that extensions can be loaded from, and what they import of packages. The list of what
 * is trusted is in the home itself.
 */
async function extensionFiles(
  { bundled, home: own, copies, configuration, packageFolder }: OperatorExtensions,
  home: string,
): Promise<readonly string[]> {
  const names = [...configuration.values()].flatMap(({ packageName }) => packageName ?? []);
  const packages = names.map(packageFolder).flatMap((found) => {
    return typeof found === "string" ? [] : [found.folder];
  });
  const folders = [bundled, own, copies, ...packages];
  if (packages.length > 0) folders.push(join(home, "node_modules"));
  return [...folders, ...(await Promise.all(folders.map(filesBelow))).flat()];
}

/** The folder, and all in it but `skills`, which agents may read. */
async function entriesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const secret = names.filter((name) => name !== "skills").slice(0, USER_CHECKED_ENTRIES_MAX);
  const real = await realpath(folder).catch(async () => {
    return join(await realpath(dirname(folder)).catch(() => dirname(folder)), basename(folder));
  });
  return [real, ...secret.map((name) => join(real, name))];
}

/** Not the folders: where a platform mounts secrets, all users may list them. */
async function filesBelow(folder: string | null): Promise<readonly string[]> {
  if (folder === null) return [];
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const paths = names.slice(0, USER_CHECKED_ENTRIES_MAX).map((name) => resolve(folder, name));
  const kinds = await Promise.all(paths.map((path) => stat(path).catch(() => null)));
  return paths.filter((_, index) => kinds[index]?.isFile());
}

/** The real paths of those that there are. */
async function existing(paths: readonly (string | null)[]): Promise<readonly string[]> {
  const real = paths.map((path) => (path === null ? null : realpath(path).catch(() => null)));
  return (await Promise.all(real)).filter((path) => path !== null);
}

/**
 * Refuses a workspace in which the user of this agent cannot work. For any agent, that of one
 * profile is enough.
 */
export function workspaceCheck(users: AgentUsers, profiles: Profiles) {
  return async (cwd: string, agent: string | null): Promise<Result<void>> => {
    if (agent !== null) return users.checkWorkspace(profiles.get(agent)?.account ?? null, cwd);
    const accounts = new Set([users.account, ...[...profiles.values()].map((one) => one.account)]);
    let first: Result<void> | null = null;
    for (const account of accounts) {
      const checked = await users.checkWorkspace(account, cwd);
      if (checked.ok) return checked;
      first ??= checked;
    }
    return first ?? DONE;
  };
}

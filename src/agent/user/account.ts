import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { ACCOUNT_LOOKUP_MS_MAX, AGENT_USER_CHARS_MAX } from "../../core/limits.ts";
import { type SpawnIdentity, spawnAs } from "../../platform/spawn-as.ts";
import { causeOf } from "../system-error.ts";

/** A user of the system under which agents, their tools and shells run. */
export interface SystemUser extends SpawnIdentity {
  /** As the operator wrote it. */
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** Null if the system knows none. */
  readonly home: string | null;
  readonly shell: string;
}

/** An account, or a sentence that says why there is none. */
export type FoundUser = SystemUser | string;

/**
 * Finds a user by name, or by `UID:GID`, which need not have an entry in the system's list: in a
 * container it often has none. The user must be another than the server's own, and not root.
 */
export async function findAccount(name: string, home: string | null): Promise<FoundUser> {
  if (process.platform !== "linux") return "only on Linux can agents have another user";
  const [, uid, gid] = /^(\d{1,10}):(\d{1,10})$/.exec(name) ?? [];
  if (uid !== undefined && gid !== undefined) {
    const entry = await entryOf(uid);
    return accountOf(name, { shell: SHELL, home: null, ...entry, uid: +uid, gid: +gid }, home);
  }
  if (!USER_NAME.test(name)) return `"${shown(name)}" is not a user's name`;
  const entry = await entryOf(name);
  if (entry === null) {
    const command = `useradd --system --create-home ${name}`;
    return `there is no user "${name}" on this machine; to create it, run: ${command}`;
  }
  return accountOf(name, entry, home);
}

const USER_NAME = new RegExp(`^[A-Za-z_][A-Za-z0-9_.-]{0,${AGENT_USER_CHARS_MAX - 1}}$`);
const SHELL = "/bin/sh";

/** The system uses the last one for "no user". */
const ID_MAX = 2 ** 32 - 2;

interface UserEntry {
  readonly uid: number;
  readonly gid: number;
  readonly home: string | null;
  readonly shell: string;
}

function accountOf(name: string, entry: UserEntry, home: string | null): FoundUser {
  const { uid, gid, shell } = entry;
  if (uid > ID_MAX || gid > ID_MAX) return `the system has no ids as large as those of "${name}"`;
  if (uid === 0) return `"${name}" is root, from whom nothing is safe; choose another user`;
  if (gid === 0) return `the group of "${name}" is root's; choose a user with another group`;
  if (uid === process.getuid?.()) return `"${name}" is the server's own user; choose another`;
  return { name, uid, gid, home: home ?? entry.home, shell, launcher: [] };
}

/** An entry of the system's list of users, by name or number. */
async function entryOf(key: string): Promise<UserEntry | null> {
  const local = await readFile("/etc/passwd", "utf8").catch(() => "");
  return entryIn(local, key) ?? entryIn(await askSystem(key), key);
}

/** The users of a directory service are known only to the system's own tool. */
async function askSystem(key: string): Promise<string> {
  try {
    const options = { timeout: ACCOUNT_LOOKUP_MS_MAX, env: { PATH: "/usr/bin:/bin" } };
    const { stdout } = await promisify(execFile)("getent", ["passwd", key], options);
    return stdout;
  } catch {
    return ""; // It fails if there is no such user, and so does a system without it.
  }
}

function entryIn(list: string, key: string): UserEntry | null {
  for (const line of list.split("\n")) {
    const [name, , uid = "", gid = "", , home = "", shell = ""] = line.trim().split(":");
    if ((name !== key && uid !== key) || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) continue;
    return { uid: +uid, gid: +gid, home: home || null, shell: shellFor(shell) };
  }
  return null;
}

/** A shell that refuses logins would refuse agents that use `$SHELL`, too. */
function shellFor(shell: string): string {
  return shell === "" || /(?:nologin|false|sync)$/.test(shell) ? SHELL : shell;
}

function shown(name: string): string {
  return name.slice(0, AGENT_USER_CHARS_MAX).replace(/\p{Cc}/gu, "?");
}

/** What a process may do, by the lines of its `status` in `/proc`. */
interface ProcessRights {
  readonly uids: readonly number[];
  readonly gids: readonly number[];
  readonly groups: readonly number[];
  readonly effective: bigint;
  readonly permitted: bigint;
  readonly ambient: bigint;
}

export function rightsIn(status: string): ProcessRights {
  const field = (name: string) =>
    new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim() ?? "";
  const numbers = (name: string) => field(name).split(/\s+/).filter(Boolean).map(Number);
  const set = (name: string) => BigInt(`0x${field(name) || "0"}`);
  return {
    uids: numbers("Uid"),
    gids: numbers("Gid"),
    groups: numbers("Groups"),
    effective: set("CapEff"),
    permitted: set("CapPrm"),
    ambient: set("CapAmb"),
  };
}

/** Why a process has not become this user, and nothing more; null if it has. */
export function rightsFault(
  { uid, gid }: Pick<SystemUser, "uid" | "gid">,
  rights: ProcessRights,
): string | null {
  const { uids, gids, groups, effective, permitted, ambient } = rights;
  if (uids.length === 0 || uids.some((one) => one !== uid)) return "its user does not change";
  if (gids.length === 0 || gids.some((one) => one !== gid)) return "its group does not change";
  if (groups.some((one) => one !== gid)) return "it keeps groups of the server";
  return (effective | permitted | ambient) === 0n ? null : "it keeps capabilities of the server";
}

const NEEDED = [
  ["CAP_KILL", 5n],
  ["CAP_SETGID", 6n],
  ["CAP_SETUID", 7n],
] as const;

/**
 * Adds how programs are started as this user, and tries it. Without these capabilities the server
 * could not start them, or not end them.
 */
export async function launchable(account: SystemUser): Promise<FoundUser> {
  const own = rightsIn(await readFile("/proc/self/status", "utf8").catch(() => ""));
  const missing = NEEDED.filter(([, bit]) => ((own.effective >> bit) & 1n) === 0n);
  if (missing.length > 0) {
    const names = missing.map(([name]) => name).join(", ");
    const advice = "start it as root, or with CAP_SETUID, CAP_SETGID and CAP_KILL";
    return `the server may not run programs as another user: it lacks ${names}; ${advice}`;
  }
  // A user other than root passes ambient capabilities on, also after a change of the user.
  const isPassedOn = own.ambient !== 0n;
  const able = isPassedOn ? { ...account, launcher: launcherFor(account) } : account;
  const fault = await trialFault(able);
  if (fault === null) return able;
  return `a program started as "${account.name}" is not safe: ${fault}`;
}

function launcherFor({ uid, gid }: SystemUser): readonly string[] {
  const caps = ["--inh-caps=-all", "--ambient-caps=-all"];
  return ["/usr/bin/setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...caps, "--"];
}

/** Runs a program as this user that shows its own rights. */
async function trialFault(account: SystemUser): Promise<string | null> {
  const program = { file: "/bin/cat", args: ["/proc/self/status"], cwd: "/", env: {} };
  const { file, args, cwd, env, identity } = spawnAs(account, program);
  try {
    const options = { cwd, env, timeout: ACCOUNT_LOOKUP_MS_MAX, ...identity };
    const { stdout } = await promisify(execFile)(file, [...args], options);
    return rightsFault(account, rightsIn(stdout));
  } catch (thrown) {
    const needed = account.launcher.length > 0 ? "; it needs setpriv of util-linux" : "";
    return `it could not be started (${causeOf(thrown)})${needed}`;
  }
}

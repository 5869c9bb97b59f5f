import { constants, type Stats } from "node:fs";
import { access, lstat, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { quoted } from "../../core/policy/approval-key.ts";
import { systemCodeOf } from "../system-error.ts";

const { R_OK, W_OK, X_OK, O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** What is wrong with the rights of the agents' user, and the command that mends it. */
export interface AccessFault {
  readonly path: string;
  readonly reason: string;
  readonly command: string;
}

export interface WorkspaceAccess {
  /** Why the user cannot work there at all. */
  readonly fault: AccessFault | null;
  /** Why the user can only read there. */
  readonly readOnly: AccessFault | null;
}

/** By number, as `setfacl` and `chown` take it, because a user need not have a name. */
interface UserName {
  readonly uid: number;
  readonly gid: number;
}

/**
 * These functions run in a process of the agents' user: they ask the system what that user may do,
 * which also counts ACLs, and which nothing else tells for sure.
 */
export async function homeFault(user: UserName, home: string): Promise<AccessFault | null> {
  const reason = "it is the home of the agents' user, who has to read and write there";
  const path = quoted(home);
  const found = await stat(home).catch((thrown: unknown) => systemCodeOf(thrown) ?? "EIO");
  if (found === "ENOENT") {
    const command = `install -d -o ${user.uid} -g ${user.gid} -m 700 ${path}`;
    return { path: home, reason: `${reason}, and it does not exist`, command };
  }
  const closed = await closedAncestor(user, home);
  if (closed !== null) return closed;
  if (typeof found === "string") return { path: home, reason: found, command: `ls -ld ${path}` };
  if (!found.isDirectory()) {
    const command = `mv ${path} ${quoted(`${home}.before`)}`;
    return { path: home, reason: `${reason}, and it is no directory`, command };
  }
  if (await may(home, R_OK | W_OK | X_OK)) return null;
  const command = `chown -R ${user.uid}:${user.gid} ${path} && chmod 700 ${path}`;
  return { path: home, reason: `${reason}, and may not`, command };
}

export async function workspaceAccess(user: UserName, path: string): Promise<WorkspaceAccess> {
  const closed = await closedAncestor(user, path);
  if (closed !== null) return { fault: closed, readOnly: null };
  const grant = (rights: string) => {
    const both = `-m u:${user.uid}:${rights} -m d:u:${user.uid}:${rights}`;
    return `setfacl -R ${both} ${quoted(path)}`;
  };
  if (!(await may(path, R_OK | X_OK))) {
    const reason = "the agents' user may not read in it";
    return { fault: { path, reason, command: grant("rwX") }, readOnly: null };
  }
  if (await may(path, W_OK)) return { fault: null, readOnly: null };
  const reason = "the agents' user may read in it, and not write";
  return { fault: null, readOnly: { path, reason, command: grant("rwX") } };
}

/** A file, by whichever path. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Which file is at a real path, if this user may read it. */
export async function identityOf(real: string): Promise<FileIdentity | null> {
  // To open a pipe or a device could have an effect.
  if (!(await statsOf(real))?.isFile()) return null;
  const file = await open(real, SAFE_FLAGS).catch(() => null);
  if (file === null) return null;
  try {
    const { dev, ino } = await file.stat();
    return { dev, ino };
  } finally {
    await file.close();
  }
}

const SAFE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/** A directory above the path that the user may not enter. */
async function closedAncestor(user: UserName, path: string): Promise<AccessFault | null> {
  for (const folder of ancestorsOf(path)) {
    const entered = await access(folder, X_OK).then(
      () => true,
      (thrown: unknown) => systemCodeOf(thrown) === "ENOENT",
    );
    if (entered) continue;
    const reason = `the agents' user may not enter ${folder}, which is above it`;
    return { path, reason, command: `setfacl -m u:${user.uid}:x ${quoted(folder)}` };
  }
  return null;
}

/** What the server keeps or loads. All are real paths. */
export interface OwnFiles {
  /** Files and directories that the agents' user must not read. */
  readonly secret: readonly string[];
  /** Files and directories that the user must not change, or anything above them. */
  readonly loaded: readonly string[];
  /** The server's own user, for the commands that mend. */
  readonly owner: number;
}

/** The first thing of the server's that this user can read or change, and must not. */
export async function exposureFault(own: OwnFiles): Promise<AccessFault | null> {
  for (const path of own.secret) {
    if (!(await may(path, R_OK))) continue;
    const reason = "the agents' user can read it, and it is the server's alone";
    return { path, reason, command: `chmod go-rwx ${quoted(path)}` };
  }
  for (const path of [...own.secret, ...own.loaded]) {
    const writable = await replaceable(path);
    if (writable !== null) return changeable(path, writable, own.owner);
  }
  return null;
}

async function changeable(path: string, writable: string, owner: number): Promise<AccessFault> {
  const by = writable === path ? "" : ` through ${writable}`;
  const reason = `the agents' user can change it${by}, and the server uses it`;
  const isMissing = (await statsOf(path)) === null;
  const target = quoted(writable);
  const command = isMissing
    ? `install -d -m 700 ${quoted(path)}`
    : `chown ${owner} ${target} && chmod go-w ${target}`;
  return { path, reason, command };
}

/**
 * What the user could write in order to change this path: the file itself, or a directory above
 * it in which it could be replaced. In a directory like `/tmp` only owners replace their files.
 */
async function replaceable(path: string): Promise<string | null> {
  if (await may(path, W_OK)) return path;
  let below: string = path;
  for (const folder of ancestorsOf(path).toReversed()) {
    if (await may(folder, W_OK)) {
      const [directory, entry] = await Promise.all([statsOf(folder), statsOf(below)]);
      const isSticky = ((directory?.mode ?? 0) & STICKY) !== 0;
      const isOwner = [directory?.uid, entry?.uid].includes(process.getuid?.());
      if (!isSticky || isOwner || entry === null) return folder;
    }
    below = folder;
  }
  return null;
}

const STICKY = 0o1000;

/** From the root down to the directory that the path is in. */
function ancestorsOf(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [...ancestorsOf(above), above];
}

async function may(path: string, how: number): Promise<boolean> {
  return access(path, how).then(
    () => true,
    () => false,
  );
}

function statsOf(path: string): Promise<Stats | null> {
  return lstat(path).catch(() => null);
}

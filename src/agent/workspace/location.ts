import { constants, existsSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { FILE_LINKS_MAX, FILE_PATH_BYTES_MAX } from "../../core/limits.ts";
import { systemCodeOf } from "../system-error.ts";
import { reasonOf, unavailable, WorkspaceError } from "./errors.ts";

/** What an act of an agent may touch. */
export interface WorkspaceScope {
  /** The real path of the workspace. */
  readonly root: string;
  /** Whether a path in it belongs to the server, and so stays closed. */
  isClosed(real: string): boolean;
}

/** Where a path really leads, with all links followed. It is always in scope. */
export interface Location {
  readonly scope: WorkspaceScope;
  /** As much of the path as exists. */
  readonly real: string;
  /** What is there; never a link. */
  readonly stats: Stats;
  /** The names below it that do not exist yet. */
  readonly missing: readonly string[];
  /** The whole path, relative to the workspace. */
  readonly name: string;
}

/**
 * Follows a path by reading each link. It opens nothing, because to open a device or a pipe has an
 * effect. Every path that ends outside gets the same refusal, so that an agent cannot learn what
 * exists there. A relative path begins at the workspace.
 */
export async function locate(
  workspace: string,
  path: string,
  isClosed: WorkspaceScope["isClosed"] = () => false,
): Promise<Location> {
  if (path === "") throw unavailable("the path is empty");
  if (path.includes("\0")) throw unavailable("its path holds a NUL character");
  if (Buffer.byteLength(path) > FILE_PATH_BYTES_MAX) {
    throw unavailable("its path is too long");
  }
  const root = await rootOf(workspace);
  const scope = { root, isClosed };
  const followed = await followPath(isAbsolute(path) ? path : `${root}/${path}`);
  if (!isInside(scope, followed.real)) throw new WorkspaceError("path_outside_workspace");
  if (followed.fault !== null) throw unavailable(followed.fault);
  const { real, stats } = followed;
  const missing = followed.missing.filter((name) => name !== "" && name !== ".");
  // As in the system: what does not exist has no parent.
  if (missing.includes("..")) throw unavailable("a part of its path does not exist");
  const whole = join(real, ...missing);
  // Closed also if the server has not created it yet.
  if (isClosed(whole)) throw new WorkspaceError("path_outside_workspace");
  return { scope, real, stats, missing, name: relative(root, whole) || "." };
}

/** Throws if a link on the path has changed since people were asked about `permitted`. */
export function mustBePermitted(workspace: string, { name }: Location, permitted?: string) {
  if (permitted === undefined || permitted === join(workspace, name)) return;
  throw unavailable("it leads elsewhere since it was permitted");
}

/**
 * Takes a real path. The kernel's file systems never count as inside, even if the workspace is
 * `/`: they show the server's environment and memory, and so all secrets.
 */
function isInside({ root, isClosed }: WorkspaceScope, real: string): boolean {
  if (KERNEL.some((window) => isBelow(window, real)) || isClosed(real)) return false;
  return isBelow(root, real);
}

const KERNEL = ["/proc", "/sys"];

async function rootOf(workspace: string): Promise<string> {
  try {
    return await realpath(workspace);
  } catch (thrown) {
    throw unavailable(`of the workspace itself: ${reasonOf(thrown)}`);
  }
}

interface FollowedPath {
  readonly real: string;
  readonly stats: Stats;
  readonly missing: readonly string[];
  /** Why it went no further; shown only if that was inside the workspace. */
  readonly fault: string | null;
}

/** Like the system, it applies `..` after the links before it. */
async function followPath(path: string): Promise<FollowedPath> {
  const names = path.split("/").reverse();
  let [real, links] = ["/", 0];
  let stats = await lstat(real);
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    if (name === "" || name === ".") continue;
    const next = name === ".." ? dirname(real) : join(real, name);
    try {
      const found = await lstat(next);
      if (!found.isSymbolicLink()) {
        [real, stats] = [next, found];
        continue;
      }
      links += 1;
      if (links > FILE_LINKS_MAX) return { real, stats, missing: [], fault: TOO_MANY_LINKS };
      const target = await readlink(next);
      if (isAbsolute(target)) real = "/";
      names.push(...target.split("/").reverse());
    } catch (thrown) {
      const missing = [name, ...names.reverse()];
      const fault = systemCodeOf(thrown) === "ENOENT" ? null : reasonOf(thrown);
      return { real, stats, missing, fault };
    }
  }
  return { real, stats, missing: [], fault: null };
}

const TOO_MANY_LINKS = "it leads through too many links";

/**
 * Linux shows the real path of an open file, and lets a path begin at an open directory. Elsewhere
 * the path is followed once more and must lead to the same file.
 */
const HANDLES_HAVE_PATHS = existsSync("/proc/self/fd");

/** No link at the end, no waiting for the other end of a pipe, no controlling terminal. */
const SAFE_OPEN = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Opens a located file, and checks where it is before any byte is used: since `locate` a directory
 * on the path may have become a link.
 */
export async function openInside(
  scope: WorkspaceScope,
  real: string,
  flags: number,
): Promise<FileHandle> {
  const handle = await open(real, flags | SAFE_OPEN);
  try {
    await mustBeInside(scope, handle, real);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function mustBeInside(
  scope: WorkspaceScope,
  handle: FileHandle,
  real: string,
): Promise<void> {
  const path = HANDLES_HAVE_PATHS
    ? await readlink(`/proc/self/fd/${handle.fd}`)
    : await pathFoundAgain(handle, real);
  if (!isInside(scope, path)) throw new WorkspaceError("path_outside_workspace");
}

/** For other systems: the real path, if it leads to the open file. */
export async function pathFoundAgain(handle: FileHandle, real: string): Promise<string> {
  const path = await realpath(real);
  const [here, there] = await Promise.all([
    handle.stat({ bigint: true }),
    lstat(path, { bigint: true }),
  ]);
  if (here.dev === there.dev && here.ino === there.ino) return path;
  throw unavailable("it was replaced while it was being opened");
}

/**
 * A directory that is held open. On Linux everything done through it happens in that directory,
 * also if its name changes. One race remains: another process may move the directory out of the
 * workspace after the check; a second check afterwards detects that. Elsewhere there is one more:
 * a name on the path may become a link between check and act, and only the second check tells.
 */
export class Directory {
  readonly #scope: WorkspaceScope;
  readonly #real: string;
  readonly #handle: FileHandle;

  private constructor(scope: WorkspaceScope, real: string, handle: FileHandle) {
    this.#scope = scope;
    this.#real = real;
    this.#handle = handle;
  }

  static async open(scope: WorkspaceScope, real: string): Promise<Directory> {
    const handle = await openInside(scope, real, constants.O_RDONLY | constants.O_DIRECTORY);
    return new Directory(scope, real, handle);
  }

  /** The path for acts in it. */
  get path(): string {
    return HANDLES_HAVE_PATHS ? `/proc/self/fd/${this.#handle.fd}` : this.#real;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  async below(name: string): Promise<Directory> {
    const handle = await open(this.at(name), constants.O_DIRECTORY | SAFE_OPEN);
    const directory = new Directory(this.#scope, join(this.#real, name), handle);
    try {
      await directory.mustBeInside();
      return directory;
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  }

  mustBeInside(): Promise<void> {
    return mustBeInside(this.#scope, this.#handle, this.#real);
  }

  /** Makes the names in it durable, where the file system can. */
  async sync(): Promise<void> {
    await this.#handle.sync().catch(() => undefined);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Real paths. */
export interface OwnPaths {
  readonly closed: readonly string[];
  readonly readable: readonly string[];
  readonly open: readonly string[];
}

/**
 * The folders in which the server keeps its own data: sessions of all tenants, tokens, credits,
 * its configuration. They stay closed in every workspace (P8), also in one that contains them,
 * such as a home directory.
 */
export class OwnFolders {
  static readonly NONE = new OwnFolders({ closed: [], readable: [], open: [] });
  readonly #paths: OwnPaths;

  private constructor(paths: OwnPaths) {
    this.#paths = paths;
  }

  /**
   * `readable` are names in the first folder that may be read, `open` is a folder in one of them
   * that agents may work in.
   */
  static async at(
    folders: readonly string[],
    readable: readonly string[],
    open: readonly string[] = [],
  ): Promise<OwnFolders> {
    const real = (folder: string) => realOrFuture(resolve(folder));
    const closed = await Promise.all(folders.map(real));
    const [first = ""] = closed;
    return new OwnFolders({
      closed,
      readable: readable.map((name) => join(first, name)),
      open: await Promise.all(open.map(real)),
    });
  }

  /** From the paths of another process, which has resolved them. */
  static of(paths: OwnPaths): OwnFolders {
    return new OwnFolders(paths);
  }

  get paths(): OwnPaths {
    return this.#paths;
  }

  /** Whether agents may change and start nothing here. */
  readonly isClosed = (real: string): boolean => {
    const { closed, open } = this.#paths;
    const isOwn = closed.some((folder) => isBelow(folder, real));
    return isOwn && !open.some((folder) => isBelow(folder, real));
  };

  /** Whether agents may not even read here. */
  readonly isUnreadable = (real: string): boolean => {
    return this.isClosed(real) && !this.#paths.readable.some((folder) => isBelow(folder, real));
  };

  /** Whether the path is one of them, lies in one, or contains one. */
  isTouchedBy(real: string): boolean {
    return this.#paths.closed.some((folder) => isBelow(folder, real) || isBelow(real, folder));
  }
}

/** Takes real paths. */
export function isBelow(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`);
}

/** The real path; of a path that does not exist yet, where it will be. */
async function realOrFuture(path: string): Promise<string> {
  const above = dirname(path);
  const real = await realpath(path).catch(() => null);
  if (real !== null || above === path) return real ?? path;
  return join(await realOrFuture(above), basename(path));
}

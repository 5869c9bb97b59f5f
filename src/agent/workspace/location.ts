import { type Stats, constants, existsSync } from "node:fs";
import { lstat, readlink, realpath, type FileHandle, open } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, basename, resolve } from "node:path";
import { FILE_LINKS_MAX, FILE_PATH_BYTES_MAX } from "../../core/limits.ts";
import { systemCodeOf } from "../system-error.ts";
import { reasonOf, Trouble } from "./errors";

/** How far an act may reach. */
export interface Reach {
  /** The workspace's own real path. */
  readonly root: string;
  /** What of it is out of reach: the server's own. */
  isClosed(real: string): boolean;
}

/** Where a path really leads: always within reach, and through no link any more. */
export interface Place {
  readonly reach: Reach;
  /** As much of the path as exists. */
  readonly real: string;
  /** What is there; never a link. */
  readonly stats: Stats;
  /** The names below it that do not exist yet. */
  readonly missing: readonly string[];
  /** The whole, as seen from the workspace. */
  readonly name: string;
}

/**
 * Follows a path by reading each link, opening nothing: to open a device or a pipe is an act
 * already. Whatever ends outside is refused alike, so that an agent cannot learn through our
 * answers what exists there. A relative path begins at the workspace.
 */
export async function locate(
  workspace: string,
  path: string,
  isClosed: Reach["isClosed"] = () => false,
): Promise<Place> {
  if (path === "") throw Trouble.unavailable("the path is empty");
  if (path.includes("\0")) throw Trouble.unavailable("its path holds a NUL character");
  if (Buffer.byteLength(path) > FILE_PATH_BYTES_MAX) {
    throw Trouble.unavailable("its path is too long");
  }
  const root = await rootOf(workspace);
  const reach = { root, isClosed };
  const walk = await walkTo(isAbsolute(path) ? path : `${root}/${path}`);
  if (!isInside(reach, walk.real)) throw new Trouble("path_outside_workspace");
  if (walk.fault !== null) throw Trouble.unavailable(walk.fault);
  const { real, stats } = walk;
  const missing = walk.missing.filter((name) => name !== "" && name !== ".");
  // As for the system: what does not exist has no parent to go back to.
  if (missing.includes("..")) throw Trouble.unavailable("a part of its path does not exist");
  const whole = join(real, ...missing);
  // What the server has not made yet is its own already.
  if (isClosed(whole)) throw new Trouble("path_outside_workspace");
  return { reach, real, stats, missing, name: relative(root, whole) || "." };
}

/** A link may have been put in its way while people were asked; undefined if nobody was. */
export function mustBePermitted(workspace: string, { name }: Place, permitted?: string) {
  if (permitted === undefined || permitted === join(workspace, name)) return;
  throw Trouble.unavailable("it leads elsewhere since it was permitted");
}

/**
 * Of a real path. The kernel's own windows never count as inside, even if somebody works in `/`:
 * the server's environment and memory can be read through them, and with it all secrets.
 */
export function isInside({ root, isClosed }: Reach, real: string): boolean {
  if (KERNEL.some((window) => isBelow(window, real)) || isClosed(real)) return false;
  return isBelow(root, real);
}

const KERNEL = ["/proc", "/sys"];

async function rootOf(workspace: string): Promise<string> {
  try {
    return await realpath(workspace);
  } catch (thrown) {
    throw Trouble.unavailable(`of the workspace itself: ${reasonOf(thrown)}`);
  }
}

interface Walk {
  readonly real: string;
  readonly stats: Stats;
  readonly missing: readonly string[];
  /** Why it went no further; whether that may be told depends on where it was. */
  readonly fault: string | null;
}

/** Like the system, it takes `..` from where the links before it have led. */
async function walkTo(path: string): Promise<Walk> {
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
 * Linux tells the real path of whatever is open, and lets a path begin at an open directory.
 * Elsewhere the name is followed once more and must lead to the very same file.
 */
const HANDLES_HAVE_PATHS = existsSync("/proc/self/fd");

/** No link at the end, no waiting for the other end of a pipe, no terminal to be ours. */
const CAREFULLY = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Opens what was located, and looks where it is before anybody gets a byte of it: between the
 * two, a directory on the way may have become a link.
 */
export async function openInside(reach: Reach, real: string, flags: number): Promise<FileHandle> {
  const handle = await open(real, flags | CAREFULLY);
  try {
    await mustBeInside(reach, handle, real);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function mustBeInside(reach: Reach, handle: FileHandle, real: string): Promise<void> {
  const path = HANDLES_HAVE_PATHS
    ? await readlink(`/proc/self/fd/${handle.fd}`)
    : await pathFoundAgain(handle, real);
  if (!isInside(reach, path)) throw new Trouble("path_outside_workspace");
}

/** For systems that do not tell: the path, if following it leads to what is open. */
export async function pathFoundAgain(handle: FileHandle, real: string): Promise<string> {
  const path = await realpath(real);
  const [here, there] = await Promise.all([
    handle.stat({ bigint: true }),
    lstat(path, { bigint: true }),
  ]);
  if (here.dev === there.dev && here.ino === there.ino) return path;
  throw Trouble.unavailable("it was replaced while it was being opened");
}

/**
 * A directory that is held open. On Linux everything done through it happens in that directory,
 * whatever becomes of its name. The race that remains: the directory itself may be moved out of
 * the workspace after it was checked, by somebody who may move it; it is checked again afterwards,
 * so that at least it does not go unnoticed. Elsewhere there is one more: a name on the way may
 * become a link between the check and the act, and again only the later check tells.
 */
export class Directory {
  readonly #reach: Reach;
  readonly #real: string;
  readonly #handle: FileHandle;

  private constructor(reach: Reach, real: string, handle: FileHandle) {
    this.#reach = reach;
    this.#real = real;
    this.#handle = handle;
  }

  static async open(reach: Reach, real: string): Promise<Directory> {
    const handle = await openInside(reach, real, constants.O_RDONLY | constants.O_DIRECTORY);
    return new Directory(reach, real, handle);
  }

  /** The path by which it is to be used. */
  get path(): string {
    return HANDLES_HAVE_PATHS ? `/proc/self/fd/${this.#handle.fd}` : this.#real;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  async below(name: string): Promise<Directory> {
    const handle = await open(this.at(name), constants.O_DIRECTORY | CAREFULLY);
    const directory = new Directory(this.#reach, join(this.#real, name), handle);
    try {
      await directory.mustBeInside();
      return directory;
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  }

  mustBeInside(): Promise<void> {
    return mustBeInside(this.#reach, this.#handle, this.#real);
  }

  /** Makes the names in it durable. Some file systems cannot, and then nobody can. */
  async sync(): Promise<void> {
    await this.#handle.sync().catch(() => undefined);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/**
 * The directories in which the server keeps what is everybody's: sessions of all tenants, tokens,
 * credits, its configuration. Nobody reaches into them through the server, whatever workspace they
 * work in (P8); one may well contain them, such as a home directory.
 */
export class OwnFolders {
  static readonly NONE = new OwnFolders([], []);
  /** All are real paths. */
  readonly #closed: readonly string[];
  readonly #readable: readonly string[];

  private constructor(closed: readonly string[], readable: readonly string[]) {
    this.#closed = closed;
    this.#readable = readable;
  }

  /** With the names in the first of them that may be read all the same. */
  static async at(folders: readonly string[], readable: readonly string[]): Promise<OwnFolders> {
    const closed = await Promise.all(folders.map((folder) => realOrComing(resolve(folder))));
    const [first = ""] = closed;
    return new OwnFolders(
      closed,
      readable.map((name) => join(first, name)),
    );
  }

  /** Whether nothing may be changed or started here. */
  readonly isClosed = (real: string): boolean => {
    return this.#closed.some((folder) => isBelow(folder, real));
  };

  /** Whether nothing may even be read here. */
  readonly isUnreadable = (real: string): boolean => {
    return this.isClosed(real) && !this.#readable.some((folder) => isBelow(folder, real));
  };

  /** Whether this is one of them, or lies in one, or has one in it. */
  isTouchedBy(real: string): boolean {
    return this.isClosed(real) || this.#closed.some((folder) => isBelow(real, folder));
  }
}

/** Both are real paths. */
export function isBelow(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`);
}

/**
 * Where a path leads; one that is not there yet, where it will be made. One that cannot be used at
 * all is no matter of ours: whoever wants to keep something there says what is wrong with it.
 */
async function realOrComing(path: string): Promise<string> {
  const above = dirname(path);
  const real = await realpath(path).catch(() => null);
  if (real !== null || above === path) return real ?? path;
  return join(await realOrComing(above), basename(path));
}

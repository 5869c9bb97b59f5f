import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { isInside, type Reach } from "./place.ts";
import { Trouble } from "./trouble.ts";

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

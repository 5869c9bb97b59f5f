import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

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

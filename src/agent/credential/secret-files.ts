import { constants, type Dirent, type Stats } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { TenantId, UserId } from "../../core/id.ts";
import { SECRET_FILE_BYTES_MAX, SECRET_FILES_MAX } from "../../core/limits.ts";
import { systemCodeOf } from "../system-error.ts";

/** Whose keys and home an agent has: those of the user who made the session, or the tenant's. */
export interface CredentialHolder {
  readonly tenantId: TenantId;
  readonly userId: UserId | null;
}

/** What decides who may read a file, or pass a folder. */
type SecretStep = Pick<Stats, "mode" | "uid" | "gid">;

/** A secret that was read, or why the file that is there cannot be used. */
export type SecretFile =
  | {
      readonly kind: "read";
      readonly path: string;
      readonly value: string;
      /** Every user of the machine may read it. */
      readonly isExposed: boolean;
      /** The file, and the folders above it up to that of the secrets. */
      readonly steps: readonly SecretStep[];
    }
  | { readonly kind: "unusable"; readonly path: string; readonly reason: string };

/**
 * The operator's folder of secrets, one in each file: `<tenant>/<user>/<name>` for a user,
 * `<tenant>/<name>` for a tenant, `<name>` for all. It is read anew each time, so a replaced
 * secret counts for the next agent process. Container platforms mount such folders with links
 * inside; a link that leaves the folder is refused.
 */
export class SecretFiles {
  readonly #root: string;

  /** The folder must exist when it is first used. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Where a secret is looked for, relative to the folder: the user's own first. */
  pathsOf({ tenantId, userId }: CredentialHolder, name: string): readonly string[] {
    const tenant = nameOf(tenantId);
    const own = userId === null ? [] : [`${tenant}/${nameOf(userId)}/${name}`];
    return [...own, `${tenant}/${name}`, name];
  }

  /** The first file that is there, even if it is unusable; null if there is none. */
  async find(owner: CredentialHolder, name: string): Promise<SecretFile | null> {
    for (const path of this.pathsOf(owner, name)) {
      const file = await this.#read(path);
      if (file !== null) return file;
    }
    return null;
  }

  /** All secrets of the folder, in a stable order. Null if there are too many. */
  async all(): Promise<readonly SecretFile[] | null> {
    const paths = await this.#pathsBelow("", FOLDERS_DEEP);
    if (paths.length > SECRET_FILES_MAX) return null;
    const files: SecretFile[] = [];
    for (const path of paths) {
      const file = await this.#read(path);
      if (file !== null) files.push(file);
    }
    return files;
  }

  /** One more than the limit at most. Names with a dot in front belong to the platform. */
  async #pathsBelow(folder: string, deep: number): Promise<readonly string[]> {
    const entries = await this.#entriesOf(folder);
    const paths: string[] = [];
    for (const { name } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (paths.length > SECRET_FILES_MAX) break;
      if (name.startsWith(".")) continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      const isFolder = (await stat(join(this.#root, path)).catch(() => null))?.isDirectory();
      if (!isFolder) paths.push(path);
      else if (deep > 0) paths.push(...(await this.#pathsBelow(path, deep - 1)));
    }
    return paths.slice(0, SECRET_FILES_MAX + 1);
  }

  /** None of a folder outside, or of one that has vanished. */
  async #entriesOf(folder: string): Promise<readonly Dirent[]> {
    const path = join(this.#root, folder);
    const [root, real] = await Promise.all([
      realpath(this.#root).catch(() => null),
      realpath(path).catch(() => null),
    ]);
    if (root === null || real === null || !isInside(root, real)) return [];
    return readdir(real, { withFileTypes: true }).catch(() => []);
  }

  /** Null if there is no file of this name. */
  async #read(path: string): Promise<SecretFile | null> {
    const unusable = (reason: string): SecretFile => ({ kind: "unusable", path, reason });
    try {
      const root = await realpath(this.#root);
      const real = await realpath(join(this.#root, path));
      if (!isInside(root, real)) return unusable("it leads out of --secrets-dir");
      const bytes = await bytesOf(real);
      if (typeof bytes === "string") return unusable(bytes);
      if (bytes === null) return null;
      const value = textOf(bytes);
      if (value === null) return unusable("it is not UTF-8 text");
      const fault = faultIn(value);
      if (fault !== null) return unusable(fault);
      const steps = await stepsTo(root, real);
      return { kind: "read", path, value, steps, isExposed: isOpenTo(steps, STRANGER) };
    } catch (thrown) {
      const code = systemCodeOf(thrown);
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      return unusable(REASONS[code ?? ""] ?? `the system says ${code ?? String(thrown)}`);
    }
  }
}

/** Users are below tenants, and secrets below both. */
const FOLDERS_DEEP = 2;

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "the server may not read it",
  ELOOP: "its links lead in a circle",
};

/** An id as a file name; a leading dot would be a name of the platform, such as `..data`. */
function nameOf(id: string): string {
  return id.startsWith(".") ? `%2E${id.slice(1)}` : id;
}

function isInside(root: string, real: string): boolean {
  const way = relative(root, real);
  return way !== ".." && !way.startsWith(`..${sep}`);
}

/** A text is the reason why not; null is a folder, which is no secret and no fault. */
async function bytesOf(real: string): Promise<Buffer | string | null> {
  // A pipe would wait for its writer.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) return null;
    if (!stats.isFile()) return "it is not a file";
    const buffer = Buffer.alloc(SECRET_FILE_BYTES_MAX + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length <= SECRET_FILE_BYTES_MAX) return buffer.subarray(0, length);
    return `it has more than ${SECRET_FILE_BYTES_MAX} bytes`;
  } finally {
    await file.close();
  }
}

/** Without the newline that editors leave at the end. */
function textOf(bytes: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    return null;
  }
}

function faultIn(value: string): string | null {
  if (value.trim() === "") return "it is empty";
  return value.includes("\0") ? "it has a NUL character, which no variable can have" : null;
}

async function stepsTo(root: string, real: string): Promise<readonly SecretStep[]> {
  const steps: SecretStep[] = [await stat(real)];
  for (let folder = dirname(real); isInside(root, folder); folder = dirname(folder)) {
    steps.push(await stat(folder));
    if (folder === dirname(folder)) break;
  }
  return steps;
}

/** Those ids that are null are the server's own, as when a program is started. */
interface SecretReader {
  readonly uid: number | null;
  readonly gid: number | null;
}

/** Owns nothing, and has no group that a file could have. */
const STRANGER: SecretReader = { uid: -1, gid: -1 };

/** Whether this user can open the file, from the folder of secrets on. */
export function isOpenTo(steps: readonly SecretStep[], reader: SecretReader): boolean {
  const uid = reader.uid ?? process.getuid?.();
  const gid = reader.gid ?? process.getgid?.();
  return steps.every((step, index) => {
    if (step.uid === uid) return true; // An owner can open what it has closed.
    const needed = index === 0 ? 0o4 : 0o1;
    return (step.mode & (step.gid === gid ? needed << 3 : needed)) !== 0;
  });
}

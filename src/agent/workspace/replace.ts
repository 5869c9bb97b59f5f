import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { systemCodeOf } from "../system-error.ts";
import type { Directory } from "./handle.ts";
import { Trouble } from "./trouble.ts";

/**
 * A new file's mode, less what the umask takes. The daemon we are compatible with makes 0600; but
 * these are files of a project, which web servers, containers and colleagues read like those that
 * an editor has made, and who may enter the workspace is decided by its directory.
 */
const NEW_FILE_MODE = 0o644;

/** Until it has its name, nobody else has to read what will be somebody's private file. */
const PRIVATE_MODE = 0o600;

const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Puts a file in a directory, whole or not at all: it is written beside its place under a name of
 * its own and then renamed, so that a reader sees the old or the new, and of two writers one wins.
 * Hard links to the old file keep the old content. Only a kill between the two steps leaves the
 * file beside it, named `.fermata-….tmp`.
 */
export async function replaceFile(
  directory: Directory,
  name: string,
  content: Buffer,
): Promise<void> {
  const target = directory.at(name);
  const old = await existing(target);
  const temporary = directory.at(`.fermata-${randomUUID()}.tmp`);
  const handle = await open(temporary, FRESH, old === null ? NEW_FILE_MODE : PRIVATE_MODE);
  try {
    await handle.writeFile(content);
    if (old !== null) await keepOwnerAndMode(handle, old);
    await handle.sync();
    await rename(temporary, target);
  } catch (thrown) {
    // The first failure is the one to tell of.
    await unlink(temporary).catch(() => undefined);
    throw thrown;
  } finally {
    await handle.close();
  }
  await directory.sync();
}

/** The directory below, made if it is not there. Another may have made it in the meantime. */
export async function enter(directory: Directory, name: string): Promise<Directory> {
  await mkdir(directory.at(name)).catch((thrown) => {
    if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
  });
  return directory.below(name);
}

/** Only ordinary files are written. */
export function mustBeFile(stats: Stats) {
  if (stats.isDirectory()) throw Trouble.unavailable("it is a directory");
  if (!stats.isFile()) throw Trouble.unavailable("it is not an ordinary file");
}

/** What is to be replaced. A rename asks only the directory, so the file is asked here. */
async function existing(target: string): Promise<Stats | null> {
  const stats = await lstat(target).catch((thrown) => {
    if (systemCodeOf(thrown) === "ENOENT") return null;
    throw thrown;
  });
  if (stats === null) return null;
  mustBeFile(stats);
  if ((stats.mode & 0o222) === 0) throw Trouble.unavailable("it is read-only");
  await access(target, constants.W_OK);
  return stats;
}

/** Programs do not stay programs of their owner (setuid) when an agent has written them anew. */
async function keepOwnerAndMode(handle: FileHandle, old: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== old.uid || now.gid !== old.gid) {
    // Only root may give files away; for others the writer becomes the owner, as with an editor.
    await handle.chown(old.uid, old.gid).catch(() => undefined);
  }
  await handle.chmod(old.mode & 0o777);
}

import { existsSync } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { DONE, fail, type Result } from "../../../core/result.ts";
import { tenantsFolder } from "../database.ts";
import { reasonOf } from "../explain.ts";

/** Whether a backup of this store can have this name at last: asked before anything is copied. */
export async function mayBackUp(root: string, target: string): Promise<Result<void>> {
  if (!existsSync(tenantsFolder(root))) {
    return refuse(`there is no store in ${root}; say where the server's data is, with --data`);
  }
  try {
    if (await isWithin(root, target)) {
      return refuse(`${target} is in the store itself; name a directory elsewhere`);
    }
    return await mayReplace(target);
  } catch (thrown) {
    return refuse(reasonOf(thrown));
  }
}

const refuse = (reason: string) => fail("backup_failed", { reason });

/** Only nothing, or a directory with nothing in it, gives way to a directory. */
async function mayReplace(target: string): Promise<Result<void>> {
  const own = await lstat(target).catch(() => null);
  if (own === null) return DONE;
  if (own.isSymbolicLink()) return refuse(`${target} is a link; name a directory itself`);
  if (!own.isDirectory()) return refuse(`${target} is a file; name a directory`);
  if ((await readdir(target)).length > 0) {
    return refuse(`${target} is not empty; name a directory that is not there yet`);
  }
  // A disk that is mounted here cannot be put in place at the end, only a directory on it.
  const above = await stat(dirname(target));
  return own.dev === above.dev ? DONE : refuse(`${target} is a disk; name a directory in it`);
}

/** By what the names stand for, whichever links lead there. */
async function isWithin(root: string, target: string): Promise<boolean> {
  const way = relative(await realpath(root), await realName(target));
  return way !== ".." && !way.startsWith(`..${sep}`);
}

/** The real name of what may not be there yet: that of the nearest folder that is, and the rest. */
async function realName(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null || dirname(path) === path) return real ?? path;
  return join(await realName(dirname(path)), relative(dirname(path), path));
}

import { mkdir, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder with all above it. Each is made by a call of its own: Node's recursive call never
 * returns where the system says ENOENT for a name in a folder that is there, as in `/proc`, and
 * names the wrong reason on a disk that is read-only.
 */
export async function makeFolders(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => null);
  if (found?.isDirectory()) return;
  const parent = dirname(folder);
  if (parent !== folder) await makeFolders(parent);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST" && (await isFolder(folder))) return;
    throw new Error(`${folder}: ${REASONS[codeOf(thrown)] ?? String(thrown)}`, { cause: thrown });
  }
}

/** The canonical path; of an absent one at least the normalized path. */
export async function canonical(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}

/** Why a folder cannot be made, with what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  EROFS: "its disk is read-only; choose another directory, or mount it writable",
  EACCES: "permission is denied; choose another directory, or make its parent writable",
  EPERM: "permission is denied; choose another directory, or make its parent writable",
  ENOENT: "the system makes no directories there; choose another directory",
  EEXIST: "a file is in its place; choose another directory, or move the file away",
  ENOTDIR: "a file is in its path; choose another directory, or move the file away",
  ENOSPC: "its disk is full; free some space",
  ENAMETOOLONG: "its name is too long; choose another directory",
};

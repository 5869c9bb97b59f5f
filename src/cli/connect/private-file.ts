import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolders } from "../../platform/folder.ts";
import { CommandFailure } from "../failure.ts";
import { isMissingFile } from "../home.ts";
import { EXIT } from "../table/exit-codes.ts";

// Files with tokens: only their owner may read them, and one that others can read or that is
// another user's is not believed.

/** The text; null if there is no such file. Throws where others can read it. */
export async function readPrivate(path: string): Promise<string | null> {
  try {
    const [found, text] = await Promise.all([stat(path), readFile(path, "utf8")]);
    const fault = rightsFault(path, found);
    if (fault !== null) throw new CommandFailure(EXIT.unauthorized, fault);
    return text;
  } catch (thrown) {
    if (isMissingFile(thrown)) return null;
    throw thrown;
  }
}

function rightsFault(path: string, found: { readonly mode: number; readonly uid: number }) {
  const own = process.getuid?.();
  if (own === undefined) return null;
  if (found.uid !== own && own !== 0) return `${path} belongs to another user, and is not read`;
  if ((found.mode & 0o077) === 0) return null;
  return `${path} has tokens in it, and others can read it. Close it: chmod 600 ${path}`;
}

/** Replaces the whole file, which no reader sees half. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await makeFolders(dirname(path));
  const fresh = `${path}.${randomUUID()}`;
  try {
    await writeFile(fresh, text, { mode: 0o600, flag: "wx" });
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
}

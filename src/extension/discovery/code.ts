import { createHash, randomUUID } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { EXTENSION_CODE_BYTES_MAX, EXTENSION_ENTRIES_MAX } from "../../core/limits.ts";
import { fileFault } from "../../platform/file-fault.ts";

/** All files of an extension, as they were when they were read. */
export interface ExtensionCode {
  /** By path in its folder, with slashes. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The SHA-256 of all of them with their paths: other code has another one. */
  readonly hash: string;
}

type CodeReading =
  | { readonly code: ExtensionCode; readonly fault?: undefined }
  | { readonly code?: undefined; readonly fault: string };

/** Opens no link, and does not wait for the writer of a pipe. */
const SAFE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads the folder of an extension whole. What begins with a dot is no part of it. There are no
 * links in it: what they lead to could be other code tomorrow.
 */
export async function readCode(folder: string): Promise<CodeReading> {
  const files = new Map<string, Uint8Array>();
  const open = [""];
  let entries = 0;
  let bytesLeft = EXTENSION_CODE_BYTES_MAX;
  for (let inner = open.pop(); inner !== undefined; inner = open.pop()) {
    const found = await entriesOf(join(folder, inner));
    if (typeof found === "string") return { fault: `${inner || "its folder"}: ${found}` };
    entries += found.length;
    if (entries > EXTENSION_ENTRIES_MAX) {
      return { fault: `it has more than ${EXTENSION_ENTRIES_MAX} files and directories` };
    }
    for (const entry of found) {
      const path = inner === "" ? entry.name : `${inner}/${entry.name}`;
      if (entry.isDirectory()) {
        open.push(path);
        continue;
      }
      if (!entry.isFile()) return { fault: `${path}: it is a link or no regular file` };
      const bytes = await bytesOf(join(folder, path), bytesLeft);
      if (typeof bytes === "string") return { fault: `${path}: ${bytes}` };
      bytesLeft -= bytes.length;
      files.set(path, bytes);
    }
  }
  return { code: { files, hash: hashOf(files) } };
}

/** What is in a folder, without what begins with a dot; or why that cannot be told. */
async function entriesOf(folder: string): Promise<readonly Dirent[] | string> {
  try {
    const all = await readdir(folder, { withFileTypes: true });
    return all.filter(({ name }) => !name.startsWith("."));
  } catch (thrown) {
    return fileFault(thrown);
  }
}

async function bytesOf(path: string, bytesMax: number): Promise<Uint8Array | string> {
  try {
    const handle = await open(path, SAFE_FLAGS);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return "it is no regular file";
      const large = `with it the extension has more than ${EXTENSION_CODE_BYTES_MAX} bytes`;
      if (stats.size > bytesMax) return large;
      const bytes = await handle.readFile();
      return bytes.length > bytesMax ? large : bytes;
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    return fileFault(thrown);
  }
}

/** Each path and each content with its length, so that no two folders come to the same text. */
function hashOf(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash("sha256");
  for (const path of [...files.keys()].sort()) {
    const bytes = files.get(path) ?? new Uint8Array();
    hash.update(`${Buffer.byteLength(path)} ${path} ${bytes.length} `).update(bytes);
  }
  return hash.digest("hex");
}

/**
 * Puts the code into a folder of its own below one of the server's, and answers where that is. The
 * code runs from there: what is changed at its origin after it was looked at is never loaded. A
 * copy that is there already is taken if it is what it should be.
 */
export async function copyCode({ files, hash }: ExtensionCode, below: string): Promise<string> {
  await markAsModules(below);
  const place = join(below, hash);
  const { code } = await readCode(place);
  if (code?.hash === hash) return place;
  const unfinished = join(below, `.${hash}-${randomUUID()}`);
  for (const [path, bytes] of files) {
    const file = join(unfinished, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, bytes, { mode: 0o600, flag: "wx" });
  }
  await rm(place, { recursive: true, force: true });
  await rename(unfinished, place).catch(async (thrown) => {
    await rm(unfinished, { recursive: true, force: true });
    // Another server of this folder may have been quicker.
    if ((await readCode(place)).code?.hash !== hash) throw thrown;
  });
  return place;
}

const MODULES = `${JSON.stringify({ type: "module" })}\n`;

/** Its `.js` files are ES modules, also if a folder further up says that those in it are not. */
async function markAsModules(below: string): Promise<void> {
  const path = join(below, "package.json");
  if ((await readFile(path, "utf8").catch(() => "")) === MODULES) return;
  await mkdir(below, { recursive: true, mode: 0o700 });
  const unfinished = join(below, `.package-${randomUUID()}`);
  await writeFile(unfinished, MODULES, { mode: 0o600, flag: "wx" });
  await rename(unfinished, path);
}

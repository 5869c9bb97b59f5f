import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import type { Footprint } from "./footprint.ts";
import { isNothingThere, reasonOf } from "./system-error.ts";

/** The result of reading a text file. It names no path outside of the root. */
export type TextReading =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "fault"; readonly code: "unreadable" | "too_large"; readonly reason: string };

/** Opens no link, does not wait for the writer of a pipe, and takes no controlling terminal. */
const SAFE_FLAGS =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads a file whose real path is inside `root`, itself a real path. It follows links that stay
 * inside. It checks the size first, so that a huge file costs nothing. The text has no byte order
 * mark, and its lines end with LF.
 */
export async function readTextInside(
  seen: Footprint,
  root: string,
  path: string,
  bytesMax: number,
  rights: WorkspaceRights | null = null,
): Promise<TextReading> {
  try {
    const real = await seen.realpath(path);
    if (!isInside(root, real)) return unreadable("it leads outside of its root");
    // Opening a device can have effects, so the kind of file is checked before.
    if (!(await seen.lstat(real)).isFile()) return unreadable(NO_FILE);
    const handle = await open(real, SAFE_FLAGS);
    try {
      return await readWhole(handle, { seen, path, real, bytesMax, rights });
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    seen.failed(thrown);
    if (!isNothingThere(thrown)) return unreadable(reasonOf(thrown));
    return (await hasName(seen, path)) ? unreadable("its link leads nowhere") : { kind: "missing" };
  }
}

/** Both are real paths. Files of the kernel never count as inside. */
export function isInside(root: string, real: string): boolean {
  if (["/proc", "/sys"].some((window) => isBelow(window, real))) return false;
  return isBelow(root, real);
}

/** Whether the name exists, even as a link to nowhere. */
export async function hasName(seen: Footprint, path: string): Promise<boolean> {
  return seen.lstat(path).then(
    () => true,
    (thrown) => !isNothingThere(thrown),
  );
}

const NO_FILE = "it is not a regular file";

/** What of a workspace may be shown to agents, who can put links there. */
export interface WorkspaceRights {
  /** Whether a real path belongs to the server. */
  isClosed(real: string): boolean;
  /** The file that the agents' user gets there, if it may read it; null if that user is ours. */
  readonly fileFor: ((real: string) => Promise<FileNumber | null>) | null;
}

/** What tells a file from all others. */
type FileNumber = Pick<Stats, "dev" | "ino">;

/** Why this opened file is not for agents; null if it is. */
async function faultFor(
  { isClosed, fileFor }: WorkspaceRights,
  real: string,
  { dev, ino }: FileNumber,
): Promise<string | null> {
  if (isClosed(real)) return "it leads to a folder of the server";
  if (fileFor === null) return null;
  const theirs = await fileFor(real);
  if (theirs?.dev === dev && theirs.ino === ino) return null;
  return "the agents' user may not read it";
}

interface OpenedFile {
  readonly seen: Footprint;
  readonly path: string;
  readonly real: string;
  readonly bytesMax: number;
  readonly rights: WorkspaceRights | null;
}

async function readWhole(
  handle: FileHandle,
  { seen, path, real, bytesMax, rights }: OpenedFile,
): Promise<TextReading> {
  const stats = await handle.stat();
  if (!stats.isFile()) return unreadable(NO_FILE);
  // The rights of the agents' user are in no file.
  if (rights !== null && rights.fileFor !== null) seen.spoil();
  const fault = rights === null ? null : await faultFor(rights, real, stats);
  if (fault !== null) return unreadable(fault);
  if (stats.size > bytesMax) return tooLarge(stats.size, bytesMax);
  // A directory of the path may have become a link between the check and the open.
  const again = await realpath(path);
  const now = await lstat(again);
  if (again !== real || now.dev !== stats.dev || now.ino !== stats.ino) {
    seen.spoil();
    return unreadable("it was replaced while it was being opened");
  }
  const bytes = await readUpTo(handle, bytesMax + 1, stats.size + 1);
  return bytes.length > bytesMax ? tooLarge(bytes.length, bytesMax) : decoded(bytes);
}

/** Reads on to the end of the file or to the limit: the file may grow meanwhile. */
async function readUpTo(handle: FileHandle, bytesMax: number, guess: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let total = 0;
  while (total < bytesMax) {
    const part = Buffer.allocUnsafe(Math.min(guess, bytesMax - total));
    const { bytesRead } = await handle.read(part);
    if (bytesRead === 0) break;
    total += bytesRead;
    parts.push(part.subarray(0, bytesRead));
  }
  return Buffer.concat(parts, total);
}

function decoded(bytes: Buffer): TextReading {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { kind: "text", text: text.replace(/\r\n?/g, "\n") };
  } catch {
    return unreadable("it is not UTF-8 text");
  }
}

function isBelow(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith("/") ? root : `${root}/`);
}

function unreadable(reason: string): TextReading {
  return { kind: "fault", code: "unreadable", reason };
}

function tooLarge(bytes: number, bytesMax: number): TextReading {
  const reason = `it has ${bytes} bytes or more, and ${bytesMax} are allowed`;
  return { kind: "fault", code: "too_large", reason };
}

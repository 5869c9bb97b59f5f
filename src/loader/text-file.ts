import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";

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
  root: string,
  path: string,
  bytesMax: number,
  rights: WorkspaceRights | null = null,
): Promise<TextReading> {
  try {
    const real = await realpath(path);
    if (!isInside(root, real)) return unreadable("it leads outside of its root");
    // Opening a device can have effects, so the kind of file is checked before.
    if (!(await lstat(real)).isFile()) return unreadable(NO_FILE);
    const handle = await open(real, SAFE_FLAGS);
    try {
      return await readWhole(handle, { path, real, bytesMax, rights });
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (!isNothingThere(thrown)) return unreadable(reasonOf(thrown));
    return (await hasName(path)) ? unreadable("its link leads nowhere") : { kind: "missing" };
  }
}

/** Both are real paths. Files of the kernel never count as inside. */
export function isInside(root: string, real: string): boolean {
  if (["/proc", "/sys"].some((window) => isBelow(window, real))) return false;
  return isBelow(root, real);
}

/** Whether the name exists, even as a link to nowhere. */
export async function hasName(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (thrown) => !isNothingThere(thrown),
  );
}

export function isNothingThere(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Words a system error without its own message, which would name the path. */
export function reasonOf(thrown: unknown): string {
  const code = codeOf(thrown);
  return REASONS[code] ?? `the system says ${code}`;
}

/** What is said when the process, or the machine, has no file handle left. */
export const FILES_EXHAUSTED = "too many files are open";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  ELOOP: "its links lead in a circle",
  EMFILE: FILES_EXHAUSTED,
  ENFILE: FILES_EXHAUSTED,
  ENAMETOOLONG: "its path is too long",
  ENOENT: "it is not there",
  ENOTDIR: "it is not a directory",
};

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
  readonly path: string;
  readonly real: string;
  readonly bytesMax: number;
  readonly rights: WorkspaceRights | null;
}

async function readWhole(
  handle: FileHandle,
  { path, real, bytesMax, rights }: OpenedFile,
): Promise<TextReading> {
  const stats = await handle.stat();
  if (!stats.isFile()) return unreadable(NO_FILE);
  const fault = rights === null ? null : await faultFor(rights, real, stats);
  if (fault !== null) return unreadable(fault);
  if (stats.size > bytesMax) return tooLarge(stats.size, bytesMax);
  // A directory of the path may have become a link between the check and the open.
  const again = await realpath(path);
  const now = await lstat(again);
  if (again !== real || now.dev !== stats.dev || now.ino !== stats.ino) {
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

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "an unknown error";
}

function unreadable(reason: string): TextReading {
  return { kind: "fault", code: "unreadable", reason };
}

function tooLarge(bytes: number, bytesMax: number): TextReading {
  const reason = `it has ${bytes} bytes or more, and ${bytesMax} are allowed`;
  return { kind: "fault", code: "too_large", reason };
}

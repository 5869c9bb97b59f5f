import { constants } from "node:fs";
import { type FileHandle, lstat, open, realpath } from "node:fs/promises";

/** What reading a text file came to. Nothing in it names a place outside of the root. */
export type TextReading =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "missing" }
  | { readonly kind: "fault"; readonly code: "unreadable" | "too_large"; readonly reason: string };

/** No link at the end, no waiting for the other end of a pipe, no terminal to be ours. */
const CAREFULLY =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads a file that really lies inside `root`, which is a real path itself. Links are followed as
 * long as they stay inside. Its size is asked before anything is read, so a huge one costs nothing.
 * The text comes without a byte order mark, and its lines end as they do here.
 */
export async function readTextInside(
  root: string,
  path: string,
  bytesMax: number,
): Promise<TextReading> {
  try {
    const real = await realpath(path);
    if (!isInside(root, real)) return unreadable("it leads outside of its root");
    // To open a device is an act already, so its kind is asked before.
    if (!(await lstat(real)).isFile()) return unreadable(NO_FILE);
    const handle = await open(real, CAREFULLY);
    try {
      return await readWhole(handle, { path, real, bytesMax });
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (!isNothingThere(thrown)) return unreadable(reasonOf(thrown));
    return (await hasName(path)) ? unreadable("its link leads nowhere") : { kind: "missing" };
  }
}

/** Both are real paths. What the kernel shows of itself is never a file of anybody's. */
export function isInside(root: string, real: string): boolean {
  if (["/proc", "/sys"].some((window) => isBelow(window, real))) return false;
  return isBelow(root, real);
}

/** Whether there is anything of this name, be it a link to nowhere. */
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

/** Why the system refused; its own message would name the path. */
export function reasonOf(thrown: unknown): string {
  const code = codeOf(thrown);
  return REASONS[code] ?? `the system says ${code}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission is denied",
  EPERM: "permission is denied",
  ELOOP: "its links lead in a circle",
  EMFILE: "too many files are open",
  ENFILE: "too many files are open",
  ENAMETOOLONG: "its path is too long",
  ENOENT: "it is not there",
  ENOTDIR: "it is not a directory",
};

const NO_FILE = "it is not a regular file";

interface Order {
  readonly path: string;
  readonly real: string;
  readonly bytesMax: number;
}

async function readWhole(handle: FileHandle, order: Order): Promise<TextReading> {
  const stats = await handle.stat();
  if (!stats.isFile()) return unreadable(NO_FILE);
  if (stats.size > order.bytesMax) return tooLarge(stats.size, order.bytesMax);
  // Between the look and the opening a directory on the way may have become a link.
  const again = await realpath(order.path);
  const there = await lstat(again);
  if (again !== order.real || there.dev !== stats.dev || there.ino !== stats.ino) {
    return unreadable("it was replaced while it was being opened");
  }
  const bytes = await readUpTo(handle, order.bytesMax + 1, stats.size + 1);
  if (bytes.length > order.bytesMax) return tooLarge(bytes.length, order.bytesMax);
  return decoded(bytes);
}

/** A file may grow while it is read; it is read on until it ends or is too large. */
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

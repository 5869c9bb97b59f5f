import { constants, type Stats } from "node:fs";
import { type FileHandle, access, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { FILE_ANSWER_BYTES_MAX, FILE_CHUNK_BYTES, FILE_READ_BYTES_MAX, FILE_WRITE_BYTES_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { AgentListener } from "../agent.ts";
import { Directory, openInside, OwnFolders, locate, mustBePermitted, type Place } from "./location.ts";
import { answer, NOT_RECORDED, recorded, Trouble } from "./errors";
import { randomUUID } from "node:crypto";
import { systemCodeOf } from "../system-error.ts";

interface FileOrder {
  readonly workspace: string;
  readonly path: string;
  /** What stays closed wherever the workspace is. */
  readonly own?: OwnFolders;
  /** What `realPathOf` found when it was decided that this may be done; else it is not. */
  readonly permitted?: string;
}

export interface ReadOrder extends FileOrder {
  /** The first line wanted, from 1; null for the first. */
  readonly line: number | null;
  /** How many lines; null for all. */
  readonly limit: number | null;
}

export interface WriteOrder extends FileOrder {
  readonly content: string;
}

type Audit = AgentListener["audit"];

/** Where a file to be read or written really is, in the workspace's own terms. */
export function realPathOf(
  { workspace, path, own = OwnFolders.NONE }: FileOrder,
  to: "read" | "write",
): Promise<Result<string>> {
  return answer(path, async () => {
    const isClosed = to === "read" ? own.isUnreadable : own.isClosed;
    return ok(join(workspace, (await locate(workspace, path, isClosed)).name));
  });
}

/**
 * Reads a file, or some lines of it, for an agent. A hard link inside the workspace is a file
 * inside it, wherever else it has names: package managers make them by the thousand.
 */
export function readTextFile(order: ReadOrder, audit: Audit): Promise<Result<{ content: string }>> {
  const { workspace, path, line, limit, own = OwnFolders.NONE } = order;
  return answer(path, async () => {
    const place = await locate(workspace, path, own.isUnreadable);
    mustBePermitted(workspace, place, order.permitted);
    if (place.missing.length > 0) throw Trouble.unavailable("there is no such file");
    mustBeFile(place.stats);
    const handle = await openInside(place.reach, place.real, constants.O_RDONLY);
    try {
      const stats = await handle.stat();
      mustBeFile(stats);
      const bytes = stats.size;
      if (bytes > FILE_READ_BYTES_MAX) throw tooLarge(bytes, FILE_READ_BYTES_MAX);
      await mustBeRecorded(audit, "fs.read", { path: place.name, bytes });
      const window = new LineWindow(line, limit, FILE_ANSWER_BYTES_MAX);
      await fill(window, (chunk) => readNext(handle, chunk));
      return ok({ content: contentOf(window, bytes) });
    } finally {
      await handle.close();
    }
  });
}

/**
 * Writes a file for an agent, whole or not at all. Directories that are missing on the way are
 * made, inside the workspace: ACP is silent, but agents write `src/new/a.ts` and have no call for
 * making `src/new`. A link is followed if it stays inside, and its target is what is replaced.
 */
export function writeTextFile(order: WriteOrder, audit: Audit): Promise<Result<void>> {
  const { workspace, path, content, own = OwnFolders.NONE } = order;
  return answer(path, async () => {
    const bytes = Buffer.byteLength(content);
    if (bytes > FILE_WRITE_BYTES_MAX) throw tooLarge(bytes, FILE_WRITE_BYTES_MAX);
    const place = await locate(workspace, path, own.isClosed);
    mustBePermitted(workspace, place, order.permitted);
    const { start, folders, file } = wayTo(place, path);
    let directory = await Directory.open(place.reach, start);
    try {
      await mustBeRecorded(audit, "fs.write", { path: place.name, bytes });
      await directory.mustBeInside();
      for (const folder of folders) directory = await step(directory, folder);
      await replaceFile(directory, file, Buffer.from(content));
      await directory.mustBeInside();
      return DONE;
    } finally {
      await directory.close();
    }
  });
}

/** Reads on until the window has what it wants, the file ends, or it has grown past the limit. */
export async function fill(
  window: LineWindow,
  read: (chunk: Buffer) => Promise<number>,
): Promise<void> {
  const chunk = Buffer.allocUnsafe(FILE_CHUNK_BYTES);
  for (let total = 0; window.wantsMore; ) {
    const bytes = await read(chunk);
    if (bytes === 0) return;
    total += bytes;
    if (total > FILE_READ_BYTES_MAX) throw tooLarge(total, FILE_READ_BYTES_MAX);
    window.feed(chunk.subarray(0, bytes));
  }
}

async function readNext(handle: FileHandle, chunk: Buffer): Promise<number> {
  return (await handle.read(chunk)).bytesRead;
}

function contentOf(window: LineWindow, fileBytes: number): string {
  if (window.isOverfull) throw tooMuchAtOnce(fileBytes);
  const content = window.text();
  // In JSON a control character takes six bytes, so the length of the text says too little.
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes > FILE_ANSWER_BYTES_MAX) throw tooMuchAtOnce(bytes);
  return content;
}

/** Where writing begins, the directories to be entered from there, and the file's own name. */
function wayTo(place: Place, path: string) {
  if (/(?:^|\/)\.{0,2}$/.test(path)) throw Trouble.unavailable("it names a directory");
  const { real, stats, missing } = place;
  const file = missing.at(-1);
  if (file !== undefined) {
    if (stats.isDirectory()) return { start: real, folders: missing.slice(0, -1), file };
    throw Trouble.unavailable("a part of its path is not a directory");
  }
  mustBeFile(stats);
  return { start: dirname(real), folders: [], file: basename(real) };
}

async function step(from: Directory, folder: string): Promise<Directory> {
  const next = await enter(from, folder);
  await from.close();
  return next;
}

async function mustBeRecorded(audit: Audit, ...act: Parameters<Audit>): Promise<void> {
  if (!(await recorded(audit, ...act))) throw Trouble.unavailable(NOT_RECORDED);
}

function tooLarge(bytes: number, limit: number): Trouble {
  return new Trouble("file_too_large", { bytes, limit });
}

function tooMuchAtOnce(bytes: number): Trouble {
  const reason = "ask for fewer lines at once, by line and limit";
  return new Trouble("file_too_large", { bytes, limit: FILE_ANSWER_BYTES_MAX, reason });
}

/**
 * The lines of a file that somebody wants, each with its end, so that one window after the other
 * gives the file. It keeps nothing else, and stops wanting when it has them or holds too much.
 */
export class LineWindow {
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #toSkip: number;
  #toTake: number;

  /** Lines are counted from 1, and 0 is taken for that; no limit takes all that follow. */
  constructor(line: number | null, limit: number | null, bytesMax: number) {
    this.#toSkip = Math.max((line ?? 1) - 1, 0);
    this.#toTake = limit ?? Number.POSITIVE_INFINITY;
    this.#bytesMax = bytesMax;
  }

  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  get wantsMore(): boolean {
    return this.#toTake > 0 && !this.isOverfull;
  }

  /** The chunk may be used again afterwards: what is wanted of it is copied. */
  feed(chunk: Buffer) {
    const start = this.#skip(chunk);
    const end = this.#take(chunk, start);
    if (end === start) return;
    this.#parts.push(Buffer.from(chunk.subarray(start, end)));
    this.#bytes += end - start;
  }

  /** Bytes that are no UTF-8 become replacement characters: an agent is better off with those. */
  text(): string {
    return Buffer.concat(this.#parts).toString("utf8");
  }

  #skip(chunk: Buffer): number {
    let start = 0;
    while (this.#toSkip > 0) {
      const end = chunk.indexOf(LF, start);
      if (end < 0) return chunk.length;
      start = end + 1;
      this.#toSkip -= 1;
    }
    return start;
  }

  #take(chunk: Buffer, start: number): number {
    if (this.#toTake === Number.POSITIVE_INFINITY) return chunk.length;
    let end = start;
    while (this.#toTake > 0 && end < chunk.length) {
      const found = chunk.indexOf(LF, end);
      if (found < 0) return chunk.length;
      end = found + 1;
      this.#toTake -= 1;
    }
    return end;
  }
}

const LF = 0x0a;

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

import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  FILE_ANSWER_BYTES_MAX,
  FILE_CHUNK_BYTES,
  FILE_READ_BYTES_MAX,
  FILE_WRITE_BYTES_MAX,
} from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { AgentListener } from "../agent.ts";
import { systemCodeOf } from "../system-error.ts";
import { answerFor, isRecorded, NOT_RECORDED, unavailable, WorkspaceError } from "./errors.ts";
import {
  Directory,
  type Location,
  locate,
  mustBePermitted,
  OwnFolders,
  openInside,
} from "./location.ts";

export interface FileRequest {
  readonly workspace: string;
  readonly path: string;
  /** The server's own folders, which stay closed in every workspace. */
  readonly own?: OwnFolders;
  /** The `realPathOf` the file when it was permitted; if it differs now, the act fails. */
  readonly permitted?: string;
}

export interface ReadRequest extends FileRequest {
  /** The first line, from 1; null for the start. */
  readonly line: number | null;
  /** How many lines; null for all. */
  readonly limit: number | null;
}

export interface WriteRequest extends FileRequest {
  readonly content: string;
}

/** Records an act before it happens. */
export type FileAudit = AgentListener["audit"];

/** Uses the files of workspaces, with the rights of one user of the system. */
export interface WorkspaceFiles {
  /** The path of a file with all links followed, as a path in the workspace. */
  realPathOf(request: FileRequest, to: "read" | "write"): Promise<Result<string>>;
  /** Waits for the audit before it reads. */
  read(request: ReadRequest, audit: FileAudit): Promise<Result<{ content: string }>>;
  /** Waits for the audit before it changes anything. */
  write(request: WriteRequest, audit: FileAudit): Promise<Result<void>>;
}

/** With the rights of this process. */
export const OWN_FILES: WorkspaceFiles = {
  realPathOf: (request, to) => realPathOf(request, to),
  read: (request, audit) => readTextFile(request, audit),
  write: (request, audit) => writeTextFile(request, audit),
};

function realPathOf(
  { workspace, path, own = OwnFolders.NONE }: FileRequest,
  to: "read" | "write",
): Promise<Result<string>> {
  return answerFor(path, async () => {
    const isClosed = to === "read" ? own.isUnreadable : own.isClosed;
    return ok(join(workspace, (await locate(workspace, path, isClosed)).name));
  });
}

/**
 * Reads a file, or some lines of it, for an agent. A hard link inside the workspace counts as a
 * file inside it: package managers make thousands of them.
 */
export function readTextFile(
  request: ReadRequest,
  audit: FileAudit,
): Promise<Result<{ content: string }>> {
  const { workspace, path, line, limit, own = OwnFolders.NONE } = request;
  return answerFor(path, async () => {
    const location = await locate(workspace, path, own.isUnreadable);
    mustBePermitted(workspace, location, request.permitted);
    if (location.missing.length > 0) throw unavailable("there is no such file");
    mustBeFile(location.stats);
    const handle = await openInside(location.scope, location.real, constants.O_RDONLY);
    try {
      const stats = await handle.stat();
      mustBeFile(stats);
      const bytes = stats.size;
      if (bytes > FILE_READ_BYTES_MAX) throw tooLarge(bytes, FILE_READ_BYTES_MAX);
      await mustBeRecorded(audit, "fs.read", { path: location.name, bytes });
      const window = new LineWindow(line, limit, FILE_ANSWER_BYTES_MAX);
      await fill(window, (chunk) => readNext(handle, chunk));
      return ok({ content: contentOf(window, bytes) });
    } finally {
      await handle.close();
    }
  });
}

/**
 * Writes a file for an agent, whole or not at all. It makes missing directories inside the
 * workspace: ACP does not say so, but agents write `src/new/a.ts` and have no call for making
 * `src/new`. A link that stays inside is followed, and its target is replaced.
 */
export function writeTextFile(request: WriteRequest, audit: FileAudit): Promise<Result<void>> {
  const { workspace, path, content, own = OwnFolders.NONE } = request;
  return answerFor(path, async () => {
    const bytes = Buffer.byteLength(content);
    if (bytes > FILE_WRITE_BYTES_MAX) throw tooLarge(bytes, FILE_WRITE_BYTES_MAX);
    const location = await locate(workspace, path, own.isClosed);
    mustBePermitted(workspace, location, request.permitted);
    const { start, folders, file } = targetOf(location, path);
    let directory = await Directory.open(location.scope, start);
    try {
      await mustBeRecorded(audit, "fs.write", { path: location.name, bytes });
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

/** Reads until the window is complete, the file ends, or it has grown past the limit. */
export async function fill(
  window: LineWindow,
  read: (chunk: Buffer) => Promise<number>,
): Promise<void> {
  const chunk = Buffer.allocUnsafe(FILE_CHUNK_BYTES);
  for (let total = 0; window.isIncomplete; ) {
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
  // In JSON a control character takes six bytes, so the length of the text is not enough.
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes > FILE_ANSWER_BYTES_MAX) throw tooMuchAtOnce(bytes);
  return content;
}

/** The directory that exists, the folders to make below it, and the file's name. */
function targetOf(location: Location, path: string) {
  if (/(?:^|\/)\.{0,2}$/.test(path)) throw unavailable("it names a directory");
  const { real, stats, missing } = location;
  const file = missing.at(-1);
  if (file !== undefined) {
    if (stats.isDirectory()) return { start: real, folders: missing.slice(0, -1), file };
    throw unavailable("a part of its path is not a directory");
  }
  mustBeFile(stats);
  return { start: dirname(real), folders: [], file: basename(real) };
}

async function step(from: Directory, folder: string): Promise<Directory> {
  const next = await enter(from, folder);
  await from.close();
  return next;
}

async function mustBeRecorded(audit: FileAudit, ...act: Parameters<FileAudit>): Promise<void> {
  if (!(await isRecorded(audit, ...act))) throw unavailable(NOT_RECORDED);
}

function tooLarge(bytes: number, limit: number): WorkspaceError {
  return new WorkspaceError("file_too_large", { bytes, limit });
}

function tooMuchAtOnce(bytes: number): WorkspaceError {
  const reason = "ask for fewer lines at once, by line and limit";
  return new WorkspaceError("file_too_large", { bytes, limit: FILE_ANSWER_BYTES_MAX, reason });
}

/**
 * Some lines of a file, each with its line end, so that all windows together give the file. It
 * keeps nothing else, and is complete when it has the lines or holds too much.
 */
export class LineWindow {
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #toSkip: number;
  #toTake: number;

  /** Lines count from 1, and 0 means the same; without a limit it takes all that follow. */
  constructor(line: number | null, limit: number | null, bytesMax: number) {
    this.#toSkip = Math.max((line ?? 1) - 1, 0);
    this.#toTake = limit ?? Number.POSITIVE_INFINITY;
    this.#bytesMax = bytesMax;
  }

  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  get isIncomplete(): boolean {
    return this.#toTake > 0 && !this.isOverfull;
  }

  /** Copies what it needs, so that the caller may use the chunk again. */
  feed(chunk: Buffer) {
    const start = this.#skip(chunk);
    const end = this.#take(chunk, start);
    if (end === start) return;
    this.#parts.push(Buffer.from(chunk.subarray(start, end)));
    this.#bytes += end - start;
  }

  /** Invalid UTF-8 becomes replacement characters, which serve an agent better than an error. */
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
 * A new file's mode, less the umask. Not 0600: these are files of a project, which web servers,
 * containers and colleagues read like those of an editor; the workspace's directory decides who
 * may enter.
 */
const NEW_FILE_MODE = 0o644;

/** Until the rename the file may be private to its owner. */
const PRIVATE_MODE = 0o600;

const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Puts a file in a directory, whole or not at all: it writes a temporary file in that directory
 * and renames it, so that a reader sees the old or the new, and of two writers one wins. Hard links
 * to the old file keep the old content. A kill between the two steps leaves a `.fermata-….tmp`.
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
    // Report the first failure.
    await unlink(temporary).catch(() => undefined);
    throw thrown;
  } finally {
    await handle.close();
  }
  await directory.sync();
}

/** Opens the directory below, and makes it if it is missing. */
async function enter(directory: Directory, name: string): Promise<Directory> {
  await mkdir(directory.at(name)).catch((thrown) => {
    if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
  });
  return directory.below(name);
}

/** Only ordinary files are read and written. */
function mustBeFile(stats: Stats) {
  if (stats.isDirectory()) throw unavailable("it is a directory");
  if (!stats.isFile()) throw unavailable("it is not an ordinary file");
}

/** The file to be replaced. A rename checks only the directory, so this checks the file. */
async function existing(target: string): Promise<Stats | null> {
  const stats = await lstat(target).catch((thrown) => {
    if (systemCodeOf(thrown) === "ENOENT") return null;
    throw thrown;
  });
  if (stats === null) return null;
  mustBeFile(stats);
  if ((stats.mode & 0o222) === 0) throw unavailable("it is read-only");
  await access(target, constants.W_OK);
  return stats;
}

/** Drops setuid and setgid: an agent has written the program anew. */
async function keepOwnerAndMode(handle: FileHandle, old: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== old.uid || now.gid !== old.gid) {
    // Only root may change the owner; else the writer becomes the owner, as with an editor.
    await handle.chown(old.uid, old.gid).catch(() => undefined);
  }
  await handle.chmod(old.mode & 0o777);
}

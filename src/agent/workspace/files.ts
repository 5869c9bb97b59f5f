import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  FILE_ANSWER_BYTES_MAX,
  FILE_CHUNK_BYTES,
  FILE_READ_BYTES_MAX,
  FILE_WRITE_BYTES_MAX,
} from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { AgentListener } from "../agent.ts";
import { Directory, openInside } from "./handle.ts";
import { OwnFolders } from "./own-folders.ts";
import { locate, mustBePermitted, type Place } from "./place.ts";
import { enter, mustBeFile, replaceFile } from "./replace.ts";
import { answer, NOT_RECORDED, recorded, Trouble } from "./trouble.ts";
import { LineWindow } from "./window.ts";

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

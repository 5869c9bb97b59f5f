import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { lstat, readdir, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import Database from "better-sqlite3";
import { parseTenantId, type TenantId } from "../../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../../core/result.ts";
import { idOfCaseSafe } from "../../../platform/case-safe.ts";
import { isGone, readHolder, thisHolder } from "../../holder.ts";
import { databaseFile, inodeOf, makeFolder, syncFolder, tenantsFolder } from "../database.ts";
import { reasonOf } from "../fault.ts";
import { MovedDatabase } from "../handles.ts";
import {
  BACKUP_FORMAT,
  type BackedUpTenant,
  type BackupContents,
  backupFile,
  CONTENTS_FILE,
  type DamagedTenant,
  digestOf,
  writeContents,
  writeDurably,
} from "./contents.ts";

export interface BackupOptions {
  /** The store's own directory. */
  readonly root: string;
  /** Where the backup is to be; nothing may be there yet. */
  readonly target: string;
  /** Of Fermata. */
  readonly version: string;
  readonly nowMs: number;
  /** Told before each tenant, with its place among all of them. */
  onTenant(tenantId: TenantId, place: number, all: number): void;
}

/**
 * Copies every tenant's database as it is at one moment, while servers may be writing. Each copy
 * is made by one statement, `VACUUM INTO`, within one read transaction: it neither waits for
 * writers nor holds them up, and begins anew for none of them, as SQLite's backup API would with
 * each foreign commit. And what was deleted is not in it.
 *
 * One tenant that cannot be read keeps no other out: the backup says which are not in it.
 *
 * The whole gets its name when it is on the disk: what has the name is a whole backup.
 */
export async function takeBackup(options: BackupOptions): Promise<Result<BackupContents>> {
  const target = resolve(options.target);
  const may = await mayBackUp(options.root, target);
  if (!may.ok) return may;
  let draft: string | null = null;
  try {
    draft = makeDraft(target);
    const contents = await fill(draft, options);
    nameDraft(draft, target);
    return ok(contents);
  } catch (thrown) {
    if (draft !== null) await rm(draft, { recursive: true, force: true });
    return fail("backup_failed", { reason: reasonOf(thrown) });
  }
}

async function fill(draft: string, options: BackupOptions): Promise<BackupContents> {
  const { root, version, nowMs, onTenant } = options;
  const names = await readdir(tenantsFolder(root));
  const ids = names.map((name) => parseTenantId(idOfCaseSafe(name) ?? "")).filter(isThere);
  const all = ids.sort();
  const tenants: BackedUpTenant[] = [];
  const damaged: DamagedTenant[] = [];
  for (const [index, tenantId] of all.entries()) {
    onTenant(tenantId, index + 1, all.length);
    const copied = await copy(databaseFile(root, tenantId), draft, tenantId);
    if (copied !== null && "reason" in copied) damaged.push(copied);
    else if (copied !== null) tenants.push(copied);
  }
  const [first] = damaged;
  if (first !== undefined && tenants.length === 0) {
    throw new Error(`tenant ${first.tenantId}: ${first.reason}`);
  }
  const takenAt = new Date(nowMs).toISOString();
  const contents = { format: BACKUP_FORMAT, fermata: version, takenAt, tenants, damaged } as const;
  await writeDurably(join(draft, CONTENTS_FILE), writeContents(contents));
  return contents;
}

const isThere = (id: TenantId | null) => id !== null;

/** Null for a tenant that is not there any more, or is not there yet. */
async function copy(
  source: string,
  draft: string,
  tenantId: TenantId,
): Promise<BackedUpTenant | DamagedTenant | null> {
  const file = join(draft, backupFile(tenantId));
  try {
    makeFolder(dirname(file));
    // SQLite takes an empty file for its own, and that one has the right mode.
    closeSync(openSync(file, "wx", 0o600));
    const sessions = copyDatabase(source, file);
    return { tenantId, sessions, ...(await digestOf(file)) };
  } catch (thrown) {
    const isGone = !existsSync(source);
    if (!isGone && !(thrown instanceof UnreadableTenant)) throw thrown;
    rmSync(dirname(file), { recursive: true, force: true });
    return isGone ? null : { tenantId, reason: reasonOf(thrown) };
  }
}

/** It is the tenant's own fault, and not that of the place where its copy was to go. */
class UnreadableTenant extends Error {}

/** Answers with how many sessions it copied. */
function copyDatabase(source: string, file: string, isRepeat = false): number {
  try {
    vacuum(source, file);
    return countSessions(file);
  } catch (thrown) {
    if (thrown instanceof MovedDatabase && !isRepeat) return copyDatabase(source, file, true);
    throw thrown;
  }
}

/** Through a connection that cannot write, so that not even a mistake changes what is there. */
function vacuum(source: string, file: string) {
  const db = opened(source);
  try {
    db.prepare("VACUUM INTO ?").run(file);
  } catch (thrown) {
    throw DAMAGE.test(codeOf(thrown)) ? new UnreadableTenant(reasonOf(thrown)) : thrown;
  } finally {
    db.close();
  }
}

/**
 * SQLite opens the log beside a database by name, when it first reads: by then a tenant that was
 * removed may have been made anew, and both must be of one and the same.
 */
function opened(source: string): Database.Database {
  const inode = inodeOf(source);
  let db: Database.Database | null = null;
  try {
    db = new Database(source, { readonly: true, fileMustExist: true });
    db.prepare("SELECT count(*) FROM sessions").get();
    if (inode === inodeOf(source)) return db;
  } catch (thrown) {
    db?.close();
    throw new UnreadableTenant(reasonOf(thrown));
  }
  db.close();
  throw new MovedDatabase(source);
}

function countSessions(file: string): number {
  const db = new Database(file, { readonly: true, fileMustExist: true });
  try {
    return Number(db.prepare("SELECT count(*) FROM sessions").pluck().get());
  } finally {
    db.close();
  }
}

/** What only reading can end with; a full disk or one that cannot be written is the copy's. */
const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB|IOERR_READ|IOERR_SHORT_READ)/;

function codeOf(thrown: unknown): string {
  return thrown instanceof Database.SqliteError ? thrown.code : "";
}

/** Where a backup grows, beside the name that it will have, with a note of who makes it. */
function makeDraft(target: string): string {
  makeFolder(dirname(target));
  clearDrafts(target);
  const draft = `${target}${PARTIAL}${randomUUID()}`;
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(join(draft, MAKER), JSON.stringify(thisHolder("backup")), { mode: 0o600 });
  return draft;
}

/** Gives it its name, when all of it is on the disk. */
function nameDraft(draft: string, target: string) {
  rmSync(join(draft, MAKER));
  renameSync(draft, target);
  syncFolder(dirname(target));
}

/** Clears the drafts of killed backups to the same target, and no others. */
function clearDrafts(target: string) {
  const folder = dirname(target);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(target)}${PARTIAL}`)) continue;
    if (isLeft(join(folder, name))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** One without a maker is at its very beginning or its very end, or was killed there. */
function isLeft(draft: string): boolean {
  try {
    const maker = readHolder(readFileSync(join(draft, MAKER), "utf8"));
    return maker !== null && isGone(maker);
  } catch {
    const { mtimeMs } = statSync(draft, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    return Date.now() - mtimeMs > MAKERLESS_MS_MAX;
  }
}

const PARTIAL = ".partial-";

const MAKER = "maker.json";

/** It takes milliseconds to write the note, or to give a draft its name after that is gone. */
const MAKERLESS_MS_MAX = 60_000;

/** Whether a backup of this store can have this name at last: asked before anything is copied. */
async function mayBackUp(root: string, target: string): Promise<Result<void>> {
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

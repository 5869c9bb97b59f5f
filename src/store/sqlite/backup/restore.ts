import { randomUUID } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { chmod, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { TenantId } from "../../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../../core/result.ts";
import { describeHolder, type Holder, thisHolder } from "../../holder.ts";
import type { JournalEntry } from "../../store.ts";
import { leapTerms, WriteBatch } from "../batch.ts";
import {
  makeFolder,
  NewerDatabase,
  syncFolder,
  TenantDatabase,
  tenantsFolder,
} from "../database.ts";
import { reasonOf } from "../fault.ts";
import { clearAway } from "../handles.ts";
import {
  forgetOpeners,
  noteClosed,
  noteFile,
  noteOpen,
  othersIn,
  renewEpochs,
  unreadableIn,
} from "../openers.ts";
import { appendEntries, freshEntries } from "../tenant.ts";
import {
  type BackedUpTenant,
  type BackupContents,
  backupFile,
  CONTENTS_FILE,
  digestOf,
  ofNewer,
  readContents,
} from "./contents.ts";

export interface RestoreOptions {
  /** The store's own directory, in which there is nothing yet. */
  readonly root: string;
  readonly source: string;
  /** What the audit of each tenant is to say of it. */
  entryOf(contents: BackupContents): JournalEntry;
  /** Told before each tenant, with its place among all of them. */
  onTenant(tenantId: TenantId, place: number, all: number): void;
}

/**
 * Puts a backup where there is no store yet. Everything is looked at, copied beside and renewed
 * first; one renaming at the end puts all of it in place, so that after a crash there is a whole
 * store or none.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Result<BackupContents>> {
  const root = resolve(options.root);
  const contents = await contentsOf(options.source);
  if (!contents.ok) return contents;
  const self = thisHolder(randomUUID());
  try {
    makeFolder(root);
    if (!noteOpen(root, self)) return occupied(`${noteFile(root, self)} cannot be written`);
    return await restore({ ...options, root }, contents.value, self);
  } catch (thrown) {
    return fail("restore_failed", { reason: reasonOf(thrown) });
  } finally {
    noteClosed(root, self);
  }
}

async function contentsOf(source: string): Promise<Result<BackupContents>> {
  const file = join(source, CONTENTS_FILE);
  if (!existsSync(file)) {
    const reason = `there is no ${file}: it is no backup, or one that was broken off`;
    return fail("backup_unreadable", { reason });
  }
  return readContents(await readFile(file, "utf8"));
}

async function restore(
  { root, source, entryOf, onTenant }: RestoreOptions,
  contents: BackupContents,
  self: Holder,
): Promise<Result<BackupContents>> {
  const free = isFree(root, self);
  if (!free.ok) return free;
  clearStages(root);
  const stage = makeStage(root);
  try {
    const { tenants } = contents;
    for (const [index, tenant] of tenants.entries()) {
      onTenant(tenant.tenantId, index + 1, tenants.length);
      const copied = await copyTenant({ source, stage, tenant, contents, entryOf });
      if (!copied.ok) return copied;
    }
    const stillFree = isFree(root, self);
    if (!stillFree.ok) return stillFree;
    // A file that has come to be in the way makes this fail, and is not replaced.
    renameSync(tenantsFolder(stage), tenantsFolder(root));
    syncFolder(root);
    return ok(contents);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Refuses a directory that a process has open, or that holds sessions already. */
function isFree(root: string, self: Holder): Result<void> {
  const [other] = othersIn(root, self);
  if (other !== undefined) {
    // A process of this machine is known to live; one of another machine cannot be checked.
    const isHere = other.host === self.host;
    const unlessGone = `; if it is gone for good, delete ${noteFile(root, other)}`;
    const advice = `stop the server first${isHere ? "" : unlessGone}`;
    return occupied(`${root} is in use by ${describeHolder(other)}; ${advice}`);
  }
  const [unreadable] = unreadableIn(root);
  if (unreadable !== undefined) {
    const advice = `run this as the server's user, or delete it if no server runs`;
    return occupied(`${unreadable} may say that ${root} is in use, and cannot be read; ${advice}`);
  }
  if (!existsSync(tenantsFolder(root))) return DONE;
  clearAway(root, { isAlone: true });
  if (readdirSync(tenantsFolder(root)).length === 0) return DONE;
  return occupied(`${root} holds sessions already; move it away, or restore elsewhere with --data`);
}

const occupied = (reason: string) => fail("restore_failed", { reason });

interface TenantCopy {
  readonly source: string;
  readonly stage: string;
  readonly tenant: BackedUpTenant;
  readonly contents: BackupContents;
  readonly entryOf: RestoreOptions["entryOf"];
}

async function copyTenant(copy: TenantCopy): Promise<Result<void>> {
  const { source, stage, contents, entryOf } = copy;
  const { tenantId, bytes, sha256 } = copy.tenant;
  const name = backupFile(tenantId);
  const file = join(stage, name);
  const damaged = (reason: string) => fail("backup_unreadable", { reason: `${name}: ${reason}` });
  if (!existsSync(join(source, name))) return damaged("it is not there");
  makeFolder(dirname(file));
  copyFileSync(join(source, name), file);
  await chmod(file, 0o600);
  const found = await digestOf(file);
  if (found.bytes !== bytes) return damaged(`it has ${found.bytes} bytes, and had ${bytes}`);
  if (found.sha256 !== sha256) return damaged("it is not what was backed up; its SHA-256 differs");
  try {
    return renew(file, entryOf(contents));
  } catch (thrown) {
    if (thrown instanceof NewerDatabase) return ofNewer(contents.fermata);
    return damaged(reasonOf(thrown));
  }
}

/**
 * Makes a copied database one that a server can begin with: its logs have new epochs, because what
 * came after the copy is lost and its ids will be used again; no process holds its sessions;
 * terms go on where the lost ones cannot have been; and the audit says so. Throws if SQLite finds
 * the file damaged.
 */
function renew(file: string, entry: JournalEntry): Result<void> {
  const db = new TenantDatabase(file, "write");
  try {
    const found = db.get("PRAGMA integrity_check(1)");
    const verdict = String(Object.values(found ?? {})[0]);
    if (verdict !== "ok") throw new Error(`SQLite finds it damaged: ${verdict}`);
    return db.transaction("immediate", () => {
      renewEpochs(db, randomUUID, { isFreed: true });
      forgetOpeners(db);
      leapTerms(db);
      const batch = new WriteBatch(db);
      const fresh = freshEntries(db, [entry]);
      if (!fresh.ok) return fresh;
      appendEntries(batch, fresh.value);
      batch.flush();
      return DONE;
    });
  } finally {
    db.close();
  }
}

/** Where a restore prepares everything, beside the place that it will have. */
function makeStage(root: string): string {
  const stage = join(root, `${STAGE}${randomUUID()}`);
  mkdirSync(join(stage, "tenants"), { recursive: true, mode: 0o700 });
  return stage;
}

/**
 * Clears what a killed restore left behind: all conversations of its backup are in it. The caller
 * knows that no other process has the directory open.
 */
export function clearStages(root: string) {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(STAGE)) continue;
    try {
      rmSync(join(root, name), { recursive: true, force: true });
    } catch {
      // The leftovers of another user do no harm.
    }
  }
}

const STAGE = "restoring-";

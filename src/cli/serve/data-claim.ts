import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "better-sqlite3";
import { isObject, stringAt } from "../../core/json.ts";
import { DATA_CLAIM_RETRY_MS, DATA_CLAIM_TRIES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { makeFolders } from "../../platform/folder.ts";
import { isGone, type ProcessIdentity, thisProcess } from "../../platform/process-identity.ts";
import { messageOf } from "../home.ts";

/** A data directory that this server serves: alone, or beside others that all said so. */
export interface DataClaim {
  /** Writes down where this server is, for one that wants the directory too. */
  listening(url: string): Promise<void>;
  release(): Promise<void>;
}

/** The system takes its lock back when the process ends, however it ends. Nothing is in it. */
const LOCK = "server.lock";

/** Who holds the lock, in words for people: the lock alone decides. */
const RECORD = "server.json";

/**
 * Takes a data directory for this server. Two servers on one directory refuse each other's
 * sessions, so a second one has to be asked for, and the first as well: it counts on being alone.
 */
export async function claimData(folder: string, isShared: boolean): Promise<Result<DataClaim>> {
  try {
    const claim = await claimed(folder, isShared ? "shared" : "alone");
    return claim === null ? refused(await whoServes(folder), folder, isShared) : ok(claim);
  } catch (thrown) {
    return fail("invalid_server_config", { path: "--data", reason: messageOf(thrown) });
  }
}

/**
 * Takes a data directory for a restore. Where the old sessions were moved away under a server that
 * runs, nothing else tells of it, and its later writes would be lost.
 */
export async function claimForRestore(folder: string): Promise<Result<DataClaim>> {
  try {
    const claim = await claimed(folder, "alone");
    return claim === null ? inUse(await whoServes(folder), folder) : ok(claim);
  } catch (thrown) {
    return fail("restore_failed", { reason: messageOf(thrown) });
  }
}

/** Null if it is another's. */
async function claimed(folder: string, how: How): Promise<DataClaim | null> {
  await makeFolders(resolve(folder));
  const lock = await awaitLock(join(folder, LOCK), how);
  if (lock === null) return null;
  await record(folder, null);
  return {
    // Without it a refusal only says less.
    listening: (url) => record(folder, url).catch(() => {}),
    async release() {
      await rm(join(folder, RECORD), { force: true });
      lock.close();
    },
  };
}

/** For a store whose sessions end with the process. */
export const NOTHING_CLAIMED: DataClaim = {
  listening: async () => {},
  release: async () => {},
};

type How = "alone" | "shared";

/** The server that has it may just be stopping, so that is waited for a little. */
async function awaitLock(path: string, how: How): Promise<Database | null> {
  for (let tries = 1; ; tries += 1) {
    const lock = await takeLock(path, how);
    if (lock !== null || tries === DATA_CLAIM_TRIES_MAX) return lock;
    await pause(DATA_CLAIM_RETRY_MS);
  }
}

/** Null if another server has it. */
async function takeLock(path: string, how: How): Promise<Database | null> {
  const { default: Sqlite } = await import("better-sqlite3");
  const lock = new Sqlite(path, { timeout: 0 });
  try {
    // Nothing is written, so there is nothing to undo, and no second file.
    lock.exec("PRAGMA journal_mode = OFF");
    lock.exec(how === "alone" ? "BEGIN EXCLUSIVE" : "BEGIN; SELECT count(*) FROM sqlite_master");
    return lock;
  } catch (thrown) {
    lock.close();
    if (thrown instanceof Sqlite.SqliteError && thrown.code === "SQLITE_BUSY") return null;
    throw thrown;
  }
}

/** Whether a process of this machine serves it, or is just starting to. */
export async function isServedHere(folder: string): Promise<boolean> {
  const who = await whoServes(folder);
  return who !== null && who.host === thisProcess().host;
}

function refused(who: RecordedServer | null, folder: string, isShared: boolean): Result<never> {
  const { first, where, stop } = wordsOf(who);
  const alone = isShared ? " without --shared-data" : "";
  const reason =
    `${first} serves ${resolve(folder)} already${where}${alone}; use that server, or ${stop}, ` +
    "or choose another directory with --data DIR, or start both with --shared-data";
  return fail("invalid_server_config", { path: "--data", reason });
}

function inUse(who: RecordedServer | null, folder: string): Result<never> {
  const { first, where, stop } = wordsOf(who);
  const reason =
    `${first} serves ${resolve(folder)}${where}; ${stop}, and restore then, ` +
    "or choose another directory with --data DIR";
  return fail("restore_failed", { reason });
}

function wordsOf(who: RecordedServer | null) {
  return {
    first: who === null ? "another server" : `process ${who.pid}${hostOf(who)}`,
    where: who?.url ? ` on ${who.url}` : "",
    stop: who === null ? "stop it" : `stop it (kill ${who.pid})`,
  };
}

function hostOf({ host }: RecordedServer): string {
  return host === thisProcess().host ? "" : ` on the machine ${host}`;
}

interface RecordedServer extends ProcessIdentity {
  /** Empty while the server is starting. */
  readonly url: string;
}

/** The record of the server that has the lock; null if it is an earlier one's. */
async function whoServes(folder: string): Promise<RecordedServer | null> {
  const text = await readFile(join(folder, RECORD), "utf8").catch(() => "");
  const read = servingIn(text);
  return read === null || isGone(read) ? null : read;
}

function servingIn(text: string): RecordedServer | null {
  try {
    const read: unknown = JSON.parse(text);
    if (!isObject(read)) return null;
    const { pid } = read;
    const host = stringAt(read, "host");
    if (typeof pid !== "number" || host === null) return null;
    const word = (name: string) => stringAt(read, name) ?? "";
    return { pid, host, bootId: word("bootId"), startedAt: word("startedAt"), url: word("url") };
  } catch {
    return null;
  }
}

async function record(folder: string, url: string | null): Promise<void> {
  const path = join(folder, RECORD);
  const ours = `${path}.${process.pid}`;
  const text = JSON.stringify({ ...thisProcess(), url: url ?? "" });
  await writeFile(ours, `${text}\n`, { mode: 0o600 });
  await rename(ours, path);
}

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
    await makeFolders(resolve(folder));
    const lock = await awaitLock(join(folder, LOCK), isShared ? "shared" : "alone");
    if (lock === null) return refused(await whoServes(folder), folder, isShared);
    await record(folder, null);
    return ok({
      // Without it a refusal only says less.
      listening: (url) => record(folder, url).catch(() => {}),
      async release() {
        await rm(join(folder, RECORD), { force: true });
        lock.close();
      },
    });
  } catch (thrown) {
    return fail("invalid_server_config", { path: "--data", reason: messageOf(thrown) });
  }
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

function refused(who: RecordedServer | null, folder: string, isShared: boolean): Result<never> {
  const first = who === null ? "another server" : `process ${who.pid}${hostOf(who)}`;
  const where = who?.url ? ` on ${who.url}` : "";
  const alone = isShared ? " without --shared-data" : "";
  const stop = who === null ? "stop it" : `stop it (kill ${who.pid})`;
  const reason =
    `${first} serves ${resolve(folder)} already${where}${alone}; use that server, or ${stop}, ` +
    "or choose another directory with --data DIR, or start both with --shared-data";
  return fail("invalid_server_config", { path: "--data", reason });
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

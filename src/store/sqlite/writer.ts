import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { TenantId } from "../../core/id.ts";
import { LOG_PAGES_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Holder } from "../holder.ts";
import type { StoreFault } from "../store.ts";
import { clearStages } from "./backup/restore.ts";
import { WriteBatch } from "./batch.ts";
import {
  absentCall,
  type Offered,
  runCall,
  type ThreadAnswer,
  type ThreadCall,
  tenantNameOf,
  tenantOf,
} from "./calls.ts";
import { StoreCondition } from "./condition.ts";
import {
  type Durability,
  databaseFile,
  makeDatabaseFile,
  makeFolder,
  removeDrafts,
  syncFolder,
  TenantDatabase,
  tenantsFolder,
} from "./database.ts";
import { step } from "./failpoint.ts";
import { explain, isOfTheWorld } from "./fault.ts";
import { clearAway, Handles, MovedDatabase, takeAway } from "./handles.ts";
import { isAlone, markClosed, markOpen, noteClosed, noteOpen } from "./openers.ts";
import { isRead, type READS } from "./read.ts";
import { Reading } from "./reading.ts";
import { hasDue, Indexing } from "./search-build.ts";
import { serve } from "./thread.ts";
import { Vacuuming } from "./vacuum.ts";
import { WRITES } from "./write.ts";

/**
 * The one thread that writes, for all tenants. All calls that have arrived go into one transaction
 * for each tenant, and are answered when that transaction is on the disk. While it has little else
 * to do it also reads.
 */
export interface WriterData {
  readonly root: string;
  readonly durability: Durability;
  /**
   * Who this thread is to the databases that it opens: the same as the thread that it replaces,
   * because the end of a thread takes nothing back.
   */
  readonly opener: Holder;
}

/** What the other side calls. */
export type WriterOps = Offered<typeof WRITES & typeof READS> & {
  readonly probe: () => Result<void>;
  readonly check: () => Result<readonly StoreFault[]>;
  /** Clears what is left of removed tenants, once nothing in this process misses them. */
  readonly clearRemoved: () => Result<void>;
  readonly removeTenant: (tenantId: TenantId, holder: Holder) => Result<void>;
};

const { root, durability, opener }: WriterData = workerData;

const handles = new Handles(
  (file) => {
    removeDrafts(dirname(file));
    const database = new TenantDatabase(file, "write");
    markOpen(database, durability, opener, randomUUID);
    if (hasDue(database)) indexing.begin(file);
    return database;
  },
  (database) => markClosed(database, opener),
);

const condition = new StoreCondition(root);

const reading = new Reading(root, condition);

const vacuuming = new Vacuuming(handles);

const indexing = new Indexing(handles);

/** Databases whose logs may have grown. */
const written = new Set<string>();

/** The sessions that were opened through this thread, and under which term. */
const owned = new Map<TenantId, Map<string, number>>();

if (parentPort) serve(parentPort, work, end);

/** Gives up what is still owned, so that the next store over this directory need not wait. */
function end() {
  vacuuming.end();
  indexing.end();
  for (const [tenantId, sessions] of owned) {
    const releases = [...sessions].map(([sessionId, term], n) => {
      return { n, op: "release", args: [{ tenantId, sessionId }, term] };
    });
    if (releases.length > 0) together(tenantId, releases, () => false);
  }
  // The last to leave puts the log away, and only who writes can.
  reading.end();
  handles.dropAll();
  noteClosed(root, opener);
  clearRemoved();
}

function* work(
  calls: readonly ThreadCall[],
  isWaitedFor: () => boolean,
): Generator<readonly ThreadAnswer[]> {
  const { reads = [], others = [] } = Object.groupBy(calls, ({ op }) => {
    return isRead(op) ? "reads" : "others";
  });
  const mayTakeLong = () => calls.length === 1 && !isWaitedFor();
  for (const [name, group] of Map.groupBy(others, tenantNameOf)) {
    const tenantId = tenantOf(name);
    if (tenantId === null) yield group.map(({ n, op }) => ({ n, value: ofTheWhole(op) }));
    else for (const stretch of stretches(group)) yield together(tenantId, stretch, mayTakeLong);
  }
  for (const read of reads) yield [timed(read)];
  putLogAway();
}

function timed(read: ThreadCall): ThreadAnswer {
  const startedMs = performance.now();
  const value = reading.answer(read);
  return { n: read.n, value, readMs: performance.now() - startedMs };
}

/**
 * All calls are answered, and only those that come meanwhile wait, for a few milliseconds. One
 * database at a time; what fails here is made up for after a later commit.
 */
function putLogAway() {
  for (const file of written) {
    written.delete(file);
    if (isPutAway(file)) return;
  }
}

function isPutAway(file: string): boolean {
  try {
    // One that was closed since then has put its log away with that.
    const db = handles.peek(file);
    const isDue = db !== null && db.logPages > LOG_PAGES_MAX;
    if (isDue) db.putLogAway("PASSIVE");
    return isDue;
  } catch {
    return false;
  }
}

/** The removal of a tenant is alone in its transaction, between what came before and after it. */
function stretches(group: readonly ThreadCall[]): readonly (readonly ThreadCall[])[] {
  const at = group.findIndex(isRemoval);
  if (at < 0 || group.length === 1) return [group];
  const [before, removal, after] = [
    group.slice(0, at),
    group.slice(at, at + 1),
    group.slice(at + 1),
  ];
  return [before, removal, ...stretches(after)].filter(({ length }) => length > 0);
}

const isRemoval = ({ op }: ThreadCall) => op === "removeTenant";

/**
 * One transaction for all. If something in it is thrown, each alone, so that one fault stays one;
 * but what the disk or another process does not allow, it allows none of them.
 */
function together(
  tenantId: TenantId,
  group: readonly ThreadCall[],
  mayTakeLong: () => boolean,
  isRepeat = false,
): readonly ThreadAnswer[] {
  try {
    return transact(tenantId, group, mayTakeLong);
  } catch (thrown) {
    handles.drop(databaseFile(root, tenantId));
    condition.met(tenantId, thrown);
    if (thrown instanceof MovedDatabase && !isRepeat) {
      return together(tenantId, group, mayTakeLong, true);
    }
    const value = explain(thrown);
    if (group.length === 1 || isOfTheWorld(thrown)) return group.map(({ n }) => ({ n, value }));
    return group.flatMap((call) => together(tenantId, [call], mayTakeLong));
  }
}

function transact(
  tenantId: TenantId,
  group: readonly ThreadCall[],
  mayTakeLong: () => boolean,
): readonly ThreadAnswer[] {
  if (!handles.isThere(databaseFile(root, tenantId))) {
    if (!existsSync(tenantsFolder(root))) throw new Error(`its directory ${root} is gone`);
    const answers = group.map((call) => ({ n: call.n, value: absent(call) }));
    if (answers.every(({ value }) => value !== null)) return answers;
  }
  const [first] = group;
  if (first !== undefined && isRemoval(first)) {
    // Calls come from our own backend, and the surface has checked this holder.
    return [{ n: first.n, value: removed(tenantId, first.args[1] as Holder) }];
  }
  const file = makeDatabaseFile(root, tenantId);
  const db = handles.get(file);
  const batch = new WriteBatch(db, mayTakeLong);
  step("sqlite-before-transaction");
  const answers = db.transaction("immediate", () => {
    if (handles.hasMoved(file)) throw new MovedDatabase(file);
    db.sessions.seen(db.dataVersion);
    const done = group.map((call) => ({ n: call.n, value: runCall(WRITES, batch, call) }));
    step("sqlite-before-flush");
    batch.flush();
    step("sqlite-before-commit");
    return done;
  });
  step("sqlite-after-commit");
  written.add(file);
  batch.settle();
  const sessions = owned.get(tenantId) ?? new Map<string, number>();
  for (const [sessionId, term] of batch.claims) {
    if (term === null) sessions.delete(sessionId);
    else sessions.set(sessionId, term);
  }
  owned.set(tenantId, sessions);
  if (group.some(({ op }) => op === "remove")) vacuuming.begin(file);
  if (batch.search.hasDue) indexing.begin(file);
  return answers;
}

/** The answer of a tenant that is not there; null if the call makes it. */
function absent(call: ThreadCall): unknown {
  return isRemoval(call) ? DONE : absentCall(WRITES, call);
}

/** What is not cleared soon is cleared at the next start: it has lost its name already. */
function removed(tenantId: TenantId, holder: Holder): Result<void> {
  const file = databaseFile(root, tenantId);
  const db = handles.get(file);
  try {
    const taken = db.transaction("immediate", () => {
      if (handles.hasMoved(file)) throw new MovedDatabase(file);
      return takeAway(db, root, tenantId, holder);
    });
    if (!taken.ok) return taken;
  } catch (thrown) {
    // Once the folder is away the tenant is removed, even if the lock fails afterwards.
    if (thrown instanceof MovedDatabase || !handles.hasMoved(file)) throw thrown;
  }
  syncFolder(tenantsFolder(root));
  step("sqlite-after-tenant-removal");
  handles.forget(file);
  reading.forget(tenantId);
  owned.delete(tenantId);
  clearAway(root, { isAlone: false });
  return DONE;
}

/** What is asked of no tenant. */
function ofTheWhole(op: string): Result<unknown> {
  try {
    if (op === "probe") return probe();
    if (op === "check") return ok(condition.faults([...handles.lost, ...reading.lost]));
    return op === "clearRemoved" ? clearRemoved() : fail("store_unavailable");
  } catch (thrown) {
    return explain(thrown);
  }
}

function clearRemoved(): Result<void> {
  clearAway(root, { isAlone: isAlone(root, opener) });
  return DONE;
}

/** Proves that the directory can be made and written, and that what is written reaches it. */
function probe(): Result<void> {
  makeFolder(tenantsFolder(root));
  const file = join(root, ".probe");
  rmSync(file, { force: true }); // One that a crash has left may be another user's.
  const handle = openSync(file, "w", 0o600);
  writeSync(handle, "fermata");
  fsyncSync(handle);
  closeSync(handle);
  rmSync(file, { force: true });
  const isNoted = noteOpen(root, opener);
  // A process that comes now finds our note, so these leftovers are of processes that are gone.
  if (isNoted && isAlone(root, opener)) clearStages(root);
  return clearRemoved();
}

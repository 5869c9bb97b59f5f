import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { isObject } from "../../core/json.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Holder } from "../holder.ts";
import { clearStages } from "./backup/stage.ts";
import { Batch } from "./batch.ts";
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
import { markClosed, markOpen } from "./epoch.ts";
import { explain, isOfTheWorld } from "./explain.ts";
import { Handles, MovedDatabase } from "./handles.ts";
import { isAlone, noteClosed, noteOpen } from "./presence.ts";
import { serve } from "./serve.ts";
import { step } from "./step.ts";
import { appendJournal, writeBlob, writeDocument } from "./tenant.ts";
import { clearAway, takeAway } from "./tenant-removal.ts";
import type { Answer, Call } from "./thread.ts";
import * as write from "./write.ts";

/**
 * The one thread that writes, for all tenants. Whatever has arrived goes into one transaction for
 * each tenant, and is answered when that transaction is on the disk.
 */
export interface WriterData {
  readonly storeId: string;
  readonly root: string;
  readonly durability: Durability;
  /**
   * Who this thread is to the databases that it opens: the same as the one whose place it takes,
   * because the end of a thread takes nothing back.
   */
  readonly opener: Holder;
}

/** What the other side calls: these functions, with the tenant in the batch's place. */
export type WriterOps = {
  readonly [Op in keyof typeof WRITES]: (
    tenantId: TenantId,
    ...args: Rest<(typeof WRITES)[Op]>
  ) => ReturnType<(typeof WRITES)[Op]>;
} & {
  readonly probe: () => Result<void>;
  /** Clears what is left of removed tenants, once nobody in this process misses them. */
  readonly clearRemoved: () => Result<void>;
  readonly removeTenant: (tenantId: TenantId, holder: Holder) => Result<void>;
};

const WRITES = {
  create: write.create,
  acquire: write.acquire,
  commit: write.commit,
  release: write.release,
  cutLog: write.cutLog,
  remove: write.remove,
  appendJournal,
  writeDocument,
  writeBlob,
} as const;

type Rest<Fn> = Fn extends (batch: Batch, ...args: infer Args) => unknown ? Args : never;

const { storeId, root, durability, opener }: WriterData = workerData;

const handles = new Handles(
  (file) => {
    removeDrafts(dirname(file));
    const database = new TenantDatabase(file, "write");
    markOpen(database, durability, opener, randomUUID);
    return database;
  },
  (database) => markClosed(database, opener),
);

/** The sessions that were opened through this thread, and under which term. */
const owned = new Map<TenantId, Map<string, number>>();

if (parentPort) serve(parentPort, work, end);

/** Gives up what is still owned, so that the next store over this directory need not wait. */
function end() {
  for (const [tenantId, sessions] of owned) {
    const releases = [...sessions].map(([sessionId, term], n) => {
      return { n, op: "release", args: [tenantId, { tenantId, sessionId }, storeId, term] };
    });
    if (releases.length > 0) together(tenantId, releases);
  }
  handles.dropAll();
  noteClosed(root, opener);
  clearRemoved();
}

function* work(calls: readonly Call[]): Generator<readonly Answer[]> {
  const groups = Map.groupBy(calls, ({ args: [tenant] }) => tenant);
  for (const [tenant, group] of groups) {
    for (const stretch of stretches(group)) yield together(tenant, stretch);
  }
}

/** The removal of a tenant is alone in its transaction, between what came before and after it. */
function stretches(group: readonly Call[]): readonly (readonly Call[])[] {
  const at = group.findIndex(isRemoval);
  if (at < 0 || group.length === 1) return [group];
  const [before, removal, after] = [
    group.slice(0, at),
    group.slice(at, at + 1),
    group.slice(at + 1),
  ];
  return [before, removal, ...stretches(after)].filter(({ length }) => length > 0);
}

const isRemoval = ({ op }: Call) => op === "removeTenant";

/**
 * One transaction for all. If something in it is thrown, each alone, so that one fault stays one;
 * but what the disk or another process does not allow, it allows none of them.
 */
function together(tenant: unknown, group: readonly Call[], isRepeat = false): readonly Answer[] {
  try {
    return transact(tenant, group);
  } catch (thrown) {
    const tenantId = parseTenantId(String(tenant));
    if (tenantId !== null) handles.drop(databaseFile(root, tenantId));
    if (thrown instanceof MovedDatabase && !isRepeat) return together(tenant, group, true);
    const value = explain(thrown);
    if (group.length === 1 || isOfTheWorld(thrown)) return group.map(({ n }) => ({ n, value }));
    return group.flatMap((call) => together(tenant, [call]));
  }
}

function transact(tenant: unknown, group: readonly Call[]): readonly Answer[] {
  const tenantId = typeof tenant === "string" ? parseTenantId(tenant) : null;
  if (tenantId === null) {
    return group.map(({ n, op }) => ({ n, value: ofTheWhole(op) }));
  }
  if (!handles.isThere(databaseFile(root, tenantId))) {
    if (!existsSync(tenantsFolder(root))) throw new Error(`its directory ${root} is gone`);
    const answers = group.map((call) => ({ n: call.n, value: withoutTenant(call) }));
    if (answers.every(({ value }) => value !== null)) return answers;
  }
  const [first] = group;
  if (first !== undefined && isRemoval(first)) return [{ n: first.n, value: removed(first) }];
  const file = makeDatabaseFile(root, tenantId);
  const db = handles.get(file);
  const batch = new Batch(db);
  step("sqlite-before-transaction");
  const answers = db.transaction("immediate", () => {
    if (handles.hasMoved(file)) throw new MovedDatabase(file);
    db.sessions.seen(db.dataVersion);
    const done = group.map((call) => ({ n: call.n, value: perform(batch, call) }));
    step("sqlite-before-flush");
    batch.flush();
    step("sqlite-before-commit");
    return done;
  });
  step("sqlite-after-commit");
  batch.settle();
  const sessions = owned.get(tenantId) ?? new Map<string, number>();
  for (const [sessionId, term] of batch.claims) {
    if (term === null) sessions.delete(sessionId);
    else sessions.set(sessionId, term);
  }
  owned.set(tenantId, sessions);
  return answers;
}

/**
 * What is answered of a tenant that is not there; null if the call makes it. Asking for a session
 * makes none, and neither does a late write to a document that was in it.
 */
function withoutTenant({ op, args: [, what] }: Call): Result<unknown> | null {
  if (op === "create" || op === "writeBlob") return null;
  if (op === "appendJournal") return isNothing(what) ? DONE : null;
  if (op === "writeDocument") return withoutDocument(what);
  if (op === "release" || op === "removeTenant") return DONE;
  return fail("session_not_found", { sessionId: isObject(what) ? String(what.sessionId) : "" });
}

function withoutDocument(write: unknown): Result<number> | null {
  const { expectedVersion: expected, text, entries } = isObject(write) ? write : {};
  if (expected !== 0) return fail("document_conflict", { version: 0, expected: Number(expected) });
  return text === null && isNothing(entries) ? ok(0) : null;
}

const isNothing = (entries: unknown) => Array.isArray(entries) && entries.length === 0;

/** What is not cleared soon is cleared at the next start: it has lost its name already. */
function removed({ args: [tenant, holder] }: Call): Result<void> {
  // Calls come from our own proxy, and the surface has checked both of these.
  const [tenantId, by] = [tenant as TenantId, holder as Holder];
  const file = databaseFile(root, tenantId);
  const db = handles.get(file);
  try {
    const taken = db.transaction("immediate", () => {
      if (handles.hasMoved(file)) throw new MovedDatabase(file);
      return takeAway(db, root, tenantId, by);
    });
    if (!taken.ok) return taken;
  } catch (thrown) {
    // Once the folder is away the tenant is removed, whatever becomes of the lock.
    if (thrown instanceof MovedDatabase || !handles.hasMoved(file)) throw thrown;
  }
  syncFolder(tenantsFolder(root));
  step("sqlite-after-tenant-removal");
  handles.forget(file);
  owned.delete(tenantId);
  clearAway(root, { isAlone: false });
  return DONE;
}

function perform(batch: Batch, { op, args: [, ...args] }: Call): unknown {
  // Calls come from our own proxy, whose types are made from these very functions.
  const ops: Readonly<Record<string, (batch: Batch, ...args: never[]) => unknown>> = WRITES;
  return ops[op]?.(batch, ...(args as never[]));
}

/** What is asked of no tenant. */
function ofTheWhole(op: string): Result<void> {
  if (op === "probe") return probe();
  return op === "clearRemoved" ? clearRemoved() : fail("store_unavailable");
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
  // Whoever comes now finds our note, so what is left by the dead is nobody's.
  if (isNoted && isAlone(root, opener)) clearStages(root);
  return clearRemoved();
}

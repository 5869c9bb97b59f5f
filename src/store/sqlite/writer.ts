import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { isObject } from "../../core/json.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { Holder } from "../holder.ts";
import { Batch } from "./batch.ts";
import {
  type Durability,
  databaseFile,
  makeDatabaseFile,
  makeFolder,
  removeDrafts,
  TenantDatabase,
  tenantsFolder,
} from "./database.ts";
import { markClosed, markOpen } from "./epoch.ts";
import { explain, isOfTheWorld } from "./explain.ts";
import { Handles } from "./handles.ts";
import { serve } from "./serve.ts";
import { step } from "./step.ts";
import { appendJournal, writeBlob, writeDocument } from "./tenant.ts";
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
} & { readonly probe: () => Result<void> };

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
}

function* work(calls: readonly Call[]): Generator<readonly Answer[]> {
  const groups = Map.groupBy(calls, ({ args: [tenant] }) => tenant);
  for (const [tenant, group] of groups) yield together(tenant, group);
}

/**
 * One transaction for all. If something in it is thrown, each alone, so that one fault stays one;
 * but what the disk or another process does not allow, it allows none of them.
 */
function together(tenant: unknown, group: readonly Call[]): readonly Answer[] {
  try {
    return transact(tenant, group);
  } catch (thrown) {
    const tenantId = parseTenantId(String(tenant));
    if (tenantId !== null) handles.drop(databaseFile(root, tenantId));
    const value = explain(thrown);
    if (group.length === 1 || isOfTheWorld(thrown)) return group.map(({ n }) => ({ n, value }));
    return group.flatMap((call) => together(tenant, [call]));
  }
}

function transact(tenant: unknown, group: readonly Call[]): readonly Answer[] {
  const tenantId = typeof tenant === "string" ? parseTenantId(tenant) : null;
  if (tenantId === null) {
    const probed = (op: string) => (op === "probe" ? probe() : fail("store_unavailable"));
    return group.map(({ n, op }) => ({ n, value: probed(op) }));
  }
  const isThere = handles.isThere(databaseFile(root, tenantId));
  if (!isThere && !group.some(({ op }) => MAKES_TENANT.has(op))) {
    return group.map((call) => ({ n: call.n, value: unknownSession(call) }));
  }
  const db = handles.get(makeDatabaseFile(root, tenantId));
  const batch = new Batch(db);
  step("sqlite-before-transaction");
  const answers = db.transaction("immediate", () => {
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

/** Asking for a session does not make a tenant of whoever is asked about. */
const MAKES_TENANT: ReadonlySet<string> = new Set<keyof typeof WRITES>([
  "create",
  "appendJournal",
  "writeDocument",
  "writeBlob",
]);

function unknownSession({ op, args: [, key] }: Call): Result<void> {
  if (!existsSync(tenantsFolder(root))) throw new Error(`its directory ${root} is gone`);
  if (op === "release") return DONE;
  return fail("session_not_found", { sessionId: isObject(key) ? String(key.sessionId) : "" });
}

function perform(batch: Batch, { op, args: [, ...args] }: Call): unknown {
  // Calls come from our own proxy, whose types are made from these very functions.
  const ops: Readonly<Record<string, (batch: Batch, ...args: never[]) => unknown>> = WRITES;
  return ops[op]?.(batch, ...(args as never[]));
}

/** Proves that the directory can be made and written, and that what is written reaches it. */
function probe(): Result<void> {
  makeFolder(tenantsFolder(root));
  const file = join(root, ".probe");
  const handle = openSync(file, "w", 0o600);
  writeSync(handle, "fermata");
  fsyncSync(handle);
  closeSync(handle);
  rmSync(file, { force: true });
  return DONE;
}

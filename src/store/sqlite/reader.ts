import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { TenantId } from "../../core/id.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import { thisHolder } from "../holder.ts";
import type { StoreFault } from "../store.ts";
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
import { databaseFile, explain, TenantDatabase, tenantsFolder } from "./database.ts";
import { Handles, MovedDatabase } from "./handles.ts";
import { markOpen, needsRenewal } from "./openers.ts";
import { READS } from "./read.ts";
import { RowDamage } from "./row.ts";
import { serve } from "./thread.ts";

/** The thread that reads, for all tenants. It never waits for the one that writes. */
export interface ReaderData {
  readonly root: string;
}

/** What the other side calls. */
export type ReaderOps = Offered<typeof READS> & {
  /** The databases that reads have found to be damaged or gone. */
  readonly check: () => Result<readonly StoreFault[]>;
  /** The tenant was removed: what was seen of it is not missed. */
  readonly forget: (tenantId: TenantId) => Result<void>;
};

const { root }: ReaderData = workerData;

const condition = new StoreCondition(root);

const handles = new Handles(
  (file) => {
    const database = new TenantDatabase(file, "read");
    // What is read has the shape of now, also before anything is written.
    if (!database.isMigrated) new TenantDatabase(file, "write").close();
    if (needsRenewal(database)) renew(file);
    return database;
  },
  () => {},
);

/** Clients must not read on under an epoch that means nothing, so a reader renews it too. */
function renew(file: string) {
  const database = new TenantDatabase(file, "write");
  try {
    markOpen(database, "full", thisHolder(randomUUID()), randomUUID);
  } finally {
    database.close();
  }
}

if (parentPort) serve(parentPort, work, () => handles.dropAll());

/** Each answer travels alone: pages are large, and a caller need not wait for all of them. */
function* work(calls: readonly ThreadCall[]): Generator<readonly ThreadAnswer[]> {
  for (const call of calls) yield [{ n: call.n, value: safely(call) }];
}

function safely(call: ThreadCall, isRepeat = false): unknown {
  try {
    return perform(call);
  } catch (thrown) {
    if (!(thrown instanceof RowDamage)) handles.dropAll();
    const tenantId = tenantOf(tenantNameOf(call));
    if (tenantId !== null) condition.met(tenantId, thrown);
    if (thrown instanceof MovedDatabase && !isRepeat) return safely(call, true);
    return explain(thrown);
  }
}

function perform(call: ThreadCall): unknown {
  if (call.op === "check") return ok(condition.knownFaults(handles.lost));
  const tenantId = tenantOf(tenantNameOf(call));
  const file = tenantId === null ? null : databaseFile(root, tenantId);
  if (call.op === "forget") {
    if (file !== null) handles.forget(file);
    return DONE;
  }
  if (!existsSync(tenantsFolder(root))) throw new Error(`its directory ${root} is gone`);
  if (file === null || !handles.isThere(file)) return absentCall(READS, call);
  const db = handles.get(file);
  return db.transaction("deferred", () => runCall(READS, db, call));
}

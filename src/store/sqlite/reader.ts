import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { isObject } from "../../core/json.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { thisHolder } from "../holder.ts";
import { databaseFile, TenantDatabase, tenantsFolder } from "./database.ts";
import { markOpen, needsRenewal } from "./epoch.ts";
import { explain } from "./explain.ts";
import { Handles, MovedDatabase } from "./handles.ts";
import { readJournal } from "./journal.ts";
import * as read from "./read.ts";
import { Damage } from "./row.ts";
import { serve } from "./serve.ts";
import { readBlob, readDocuments } from "./tenant.ts";
import type { Answer, Call } from "./thread.ts";

/** The thread that reads, for all tenants. It never waits for the one that writes. */
export interface ReaderData {
  readonly root: string;
}

/** What the other side calls: the functions of read.ts, with the tenant in the database's place. */
export type ReaderOps = {
  readonly [Op in ReadOp]: (
    tenantId: TenantId,
    ...args: Rest<(typeof READS)[Op]>
  ) => ReturnType<(typeof READS)[Op]>;
} & {
  /** The tenant was removed: what was seen of it is not missed. */
  readonly forget: (tenantId: TenantId) => Result<void>;
};

type ReadOp = keyof typeof READS;
type Rest<Fn> = Fn extends (db: TenantDatabase, ...args: infer Args) => unknown ? Args : never;

const READS = {
  readRecord: read.readRecord,
  readManifest: read.readManifest,
  readEvents: read.readEvents,
  readTurns: read.readTurns,
  readMessages: read.readMessages,
  readSlots: read.readSlotsOf,
  list: read.list,
  readJournal,
  readDocuments,
  readBlob,
} as const;

const unknown = (key: unknown) =>
  fail("session_not_found", { sessionId: isObject(key) ? String(key.sessionId) : "" });

/** What is found where nobody has written yet. */
const NOTHING: Readonly<Record<ReadOp, (first: unknown) => Result<unknown>>> = {
  readRecord: unknown,
  readManifest: unknown,
  readEvents: unknown,
  readTurns: unknown,
  readMessages: unknown,
  readSlots: unknown,
  list: () => ok({ sessions: [], damaged: [], continuesAfter: null }),
  readJournal: () => ok({ rows: [], more: false }),
  readDocuments: () => ok({ rows: [], more: false }),
  readBlob: () => ok(null),
};

const { root }: ReaderData = workerData;

const handles = new Handles(
  (file) => {
    const database = new TenantDatabase(file, "read");
    if (needsRenewal(database)) renew(file);
    return database;
  },
  () => {},
);

/** Nobody may read on under an epoch that means nothing any more, so a reader renews it too. */
function renew(file: string) {
  const database = new TenantDatabase(file, "write");
  try {
    markOpen(database, "full", thisHolder(randomUUID()), randomUUID);
  } finally {
    database.close();
  }
}

if (parentPort) serve(parentPort, work, () => handles.dropAll());

/** Each answer travels alone: pages are large, and whoever asked for one need not wait for all. */
function* work(calls: readonly Call[]): Generator<readonly Answer[]> {
  for (const call of calls) yield [{ n: call.n, value: safely(call) }];
}

function safely(call: Call, isRepeat = false): unknown {
  try {
    return perform(call);
  } catch (thrown) {
    if (!(thrown instanceof Damage)) handles.dropAll();
    if (thrown instanceof MovedDatabase && !isRepeat) return safely(call, true);
    return explain(thrown);
  }
}

function perform({ op, args: [tenant, ...args] }: Call): unknown {
  const tenantId = parseTenantId(String(tenant));
  const file = tenantId === null ? null : databaseFile(root, tenantId);
  if (op === "forget") {
    if (file !== null) handles.forget(file);
    return DONE;
  }
  if (!isReadOp(op)) return fail("store_unavailable", { reason: `there is no operation ${op}` });
  if (!existsSync(tenantsFolder(root))) {
    return fail("store_unavailable", { reason: `its directory ${root} is gone` });
  }
  if (file === null || !handles.isThere(file)) return NOTHING[op](args[0]);
  const db = handles.get(file);
  // Calls come from our own proxy, whose types are made from these very functions.
  const ops: Readonly<Record<string, (db: TenantDatabase, ...args: never[]) => unknown>> = READS;
  return db.transaction("deferred", () => ops[op]?.(db, ...(args as never[])));
}

function isReadOp(op: string): op is ReadOp {
  return Object.hasOwn(READS, op);
}

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import type { TenantId } from "../../core/id.ts";
import { thisHolder } from "../holder.ts";
import { absentCall, runCall, type ThreadCall, tenantNameOf, tenantOf } from "./calls.ts";
import type { StoreCondition } from "./condition.ts";
import { databaseFile, TenantDatabase, tenantsFolder } from "./database.ts";
import { explain } from "./fault.ts";
import { Handles, MovedDatabase } from "./handles.ts";
import { markOpen, needsRenewal } from "./openers.ts";
import { READS } from "./read.ts";
import { RowDamage } from "./row.ts";

/**
 * The reads of one thread, for all tenants, over connections of their own: what is written beside
 * them is seen by them when it is durable, and not before.
 */
export class Reading {
  readonly #root: string;
  readonly #condition: StoreCondition;
  readonly #handles = new Handles(openToRead, () => {});

  /** The condition learns what reads meet. */
  constructor(root: string, condition: StoreCondition) {
    this.#root = root;
    this.#condition = condition;
  }

  /** Databases that were there once, are not any more, and whose tenants were not removed. */
  get lost(): readonly string[] {
    return this.#handles.lost;
  }

  answer(call: ThreadCall, isRepeat = false): unknown {
    try {
      return this.#perform(call);
    } catch (thrown) {
      if (!(thrown instanceof RowDamage)) this.#handles.dropAll();
      const tenantId = tenantOf(tenantNameOf(call));
      if (tenantId !== null) this.#condition.met(tenantId, thrown);
      if (thrown instanceof MovedDatabase && !isRepeat) return this.answer(call, true);
      return explain(thrown);
    }
  }

  /** The tenant was removed: what was seen of it is not missed. */
  forget(tenantId: TenantId) {
    this.#handles.forget(databaseFile(this.#root, tenantId));
  }

  end() {
    this.#handles.dropAll();
  }

  #perform(call: ThreadCall): unknown {
    const tenantId = tenantOf(tenantNameOf(call));
    const file = tenantId === null ? null : databaseFile(this.#root, tenantId);
    if (!existsSync(tenantsFolder(this.#root))) {
      throw new Error(`its directory ${this.#root} is gone`);
    }
    if (file === null || !this.#handles.isThere(file)) return absentCall(READS, call);
    const db = this.#handles.get(file);
    return db.transaction("deferred", () => runCall(READS, db, call));
  }
}

function openToRead(file: string): TenantDatabase {
  const database = new TenantDatabase(file, "read");
  // What is read has the shape of now, also before anything is written.
  if (!database.isMigrated) new TenantDatabase(file, "write").close();
  if (needsRenewal(database)) renew(file);
  return database;
}

/** Clients must not read on under an epoch that means nothing, so a reader renews it too. */
function renew(file: string) {
  const database = new TenantDatabase(file, "write");
  try {
    markOpen(database, "full", thisHolder(randomUUID()), randomUUID);
  } finally {
    database.close();
  }
}

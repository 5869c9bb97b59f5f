import { closeSync, fsyncSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import {
  STORE_PROBE_BYTES,
  STORE_REREAD_BYTES_MAX,
  STORE_TENANTS_CHECKED_MAX,
} from "../../core/limits.ts";
import { idOfCaseSafe } from "../../platform/case-safe.ts";
import type { StoreFault } from "../store.ts";
import { databaseFile, inodeOf, TenantDatabase, tenantsFolder } from "./database.ts";
import { isDamage, reasonOf } from "./fault.ts";

/**
 * What is wrong with a store's directory. A look writes one file and opens some databases; what
 * calls have met in between is remembered until it is seen to be mended.
 */
export class StoreCondition {
  readonly #root: string;
  /** What was found when the database was last looked at. */
  readonly #found = new Map<TenantId, StoreFault>();
  /** What a call has met, and in which file. */
  readonly #met = new Map<TenantId, { readonly inode: string | null; readonly reason: string }>();
  /** Where the next look goes on. */
  #after = "";

  constructor(root: string) {
    this.#root = root;
  }

  /** A call has thrown this; only damage of the database is remembered. */
  met(tenantId: TenantId, thrown: unknown) {
    if (!isDamage(thrown)) return;
    const inode = inodeOf(databaseFile(this.#root, tenantId));
    this.#met.set(tenantId, { inode, reason: reasonOf(thrown) });
  }

  /** All that is known to be wrong now; `lost` are databases that vanished from their place. */
  faults(lost: readonly string[]): readonly StoreFault[] {
    const unwritable = writeFault(this.#root);
    this.#look();
    const known = this.knownFaults(lost);
    const found = [...this.#found.values()].filter(({ tenantId }) => {
      return known.every((fault) => fault.tenantId !== tenantId);
    });
    return [...(unwritable === null ? [] : [unwritable]), ...known, ...found];
  }

  /** What calls have met, and which databases have vanished: without a look. */
  knownFaults(lost: readonly string[]): readonly StoreFault[] {
    const gone = new Map<TenantId, StoreFault>();
    for (const file of lost) {
      const tenantId = tenantOf(basename(dirname(file)));
      const reason = `its database ${file} is gone`;
      if (tenantId !== null) gone.set(tenantId, { kind: "missing", tenantId, reason });
    }
    this.#rereadOne();
    for (const [tenantId, { reason }] of this.#met) {
      gone.set(tenantId, { kind: "damaged", tenantId, reason });
    }
    return [...gone.values()];
  }

  /** Forgets what was met in a database that is mended. One is read at a look: that takes time. */
  #rereadOne() {
    const [oldest] = this.#met;
    if (oldest === undefined) return;
    const [tenantId, met] = oldest;
    const file = databaseFile(this.#root, tenantId);
    this.#met.delete(tenantId);
    if (inodeOf(file) === met.inode && !isWhole(file)) this.#met.set(tenantId, met);
  }

  /** Opens the next databases, in the order of their names. */
  #look() {
    const names = namesIn(tenantsFolder(this.#root)).toSorted();
    const rest = names.filter((name) => name > this.#after);
    const next = rest.slice(0, STORE_TENANTS_CHECKED_MAX);
    this.#after = rest.length > next.length ? (next.at(-1) ?? "") : "";
    for (const name of next) {
      const tenantId = tenantOf(name);
      if (tenantId === null) continue;
      const reason = openingFault(databaseFile(this.#root, tenantId));
      if (reason === null) this.#found.delete(tenantId);
      else this.#found.set(tenantId, { kind: "damaged", tenantId, reason });
    }
    const there = new Set(names.map(tenantOf));
    for (const tenantId of this.#found.keys()) {
      if (!there.has(tenantId)) this.#found.delete(tenantId);
    }
  }
}

function tenantOf(name: string): TenantId | null {
  return parseTenantId(idOfCaseSafe(name) ?? "");
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // That it cannot be written is told already.
  }
}

/** Why nothing can be written; null if something was, and has reached the disk. */
function writeFault(root: string): StoreFault | null {
  const file = join(root, ".health-probe");
  try {
    const handle = openSync(file, "w", 0o600);
    try {
      writeSync(handle, Buffer.alloc(STORE_PROBE_BYTES));
      fsyncSync(handle);
    } finally {
      closeSync(handle);
      rmSync(file, { force: true });
    }
    return null;
  } catch (thrown) {
    return { kind: "unwritable", tenantId: null, reason: reasonOf(thrown) };
  }
}

/**
 * What opening a database says against it; null if nothing, or if there is no file, as while a
 * tenant is being made. SQLite itself has to open it: if the server closed a handle of its own to
 * the file, the system would release the locks of all handles of the process, SQLite's among them,
 * and another program could take the log away under the server (P1).
 */
function openingFault(file: string): string | null {
  try {
    if (statSync(file).size === 0) return `its database ${file} is empty`;
    new TenantDatabase(file, "read").close();
    return null;
  } catch (thrown) {
    return isDamage(thrown) ? `${reasonOf(thrown)}: ${file}` : null;
  }
}

/** Whether a database that was damaged is whole again. One that is too large is not read. */
function isWhole(file: string): boolean {
  try {
    if (statSync(file).size > STORE_REREAD_BYTES_MAX || openingFault(file) !== null) return false;
    const database = new TenantDatabase(file, "read");
    try {
      return database.get("PRAGMA quick_check(1)")?.quick_check === "ok";
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

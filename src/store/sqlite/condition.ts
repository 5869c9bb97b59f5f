import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import {
  STORE_PROBE_BYTES,
  STORE_REREAD_BYTES_MAX,
  STORE_TENANTS_CHECKED_MAX,
} from "../../core/limits.ts";
import { idOfCaseSafe } from "../../platform/case-safe.ts";
import type { StoreFault } from "../store.ts";
import {
  databaseFile,
  inodeOf,
  isDamage,
  reasonOf,
  TenantDatabase,
  tenantsFolder,
} from "./database.ts";

/**
 * What is wrong with a store's directory. A look writes one file and reads the beginnings of some
 * databases; what calls have met in between is remembered until it is seen to be mended.
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
    for (const [tenantId, { inode, reason }] of this.#met) {
      const file = databaseFile(this.#root, tenantId);
      if (inodeOf(file) !== inode || isWhole(file)) this.#met.delete(tenantId);
      else gone.set(tenantId, { kind: "damaged", tenantId, reason });
    }
    return [...gone.values()];
  }

  /** Reads the beginnings of the next databases, in the order of their names. */
  #look() {
    const names = namesIn(tenantsFolder(this.#root)).toSorted();
    const rest = names.filter((name) => name > this.#after);
    const next = rest.slice(0, STORE_TENANTS_CHECKED_MAX);
    this.#after = rest.length > next.length ? (next.at(-1) ?? "") : "";
    for (const name of next) {
      const tenantId = tenantOf(name);
      if (tenantId === null) continue;
      const reason = headerFault(databaseFile(this.#root, tenantId));
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

const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
/** Where the header of a database has its figures. */
const AT = { pageSize: 16, changes: 24, pages: 28, userVersion: 60, pagesValidFor: 92 } as const;

/**
 * What the beginning of a database says against it; null if nothing, or if there is no file, as
 * while a tenant is being made. What is still in its log only makes a database longer.
 */
function headerFault(file: string): string | null {
  const header = Buffer.alloc(HEADER_BYTES);
  let size = 0;
  try {
    const handle = openSync(file, "r");
    try {
      size = fstatSync(handle).size;
      readSync(handle, header, 0, HEADER_BYTES, 0);
    } finally {
      closeSync(handle);
    }
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    return isMissing ? null : reasonOf(thrown);
  }
  if (size === 0) return `its database ${file} is empty`;
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return `${file} is no database`;
  if (header.readUInt32BE(AT.userVersion) === 0) return `its database ${file} has no tables`;
  const written = header.readUInt16BE(AT.pageSize);
  const pageSize = written === 1 ? 65_536 : written;
  const isCounted = header.readUInt32BE(AT.changes) === header.readUInt32BE(AT.pagesValidFor);
  const pages = header.readUInt32BE(AT.pages);
  const isShort = isCounted && size < pages * pageSize;
  return isShort ? `its database ${file} is cut short: ${size} of ${pages * pageSize} bytes` : null;
}

/** Whether a database that was damaged is whole again. One that is too large is not read. */
function isWhole(file: string): boolean {
  try {
    const handle = openSync(file, "r");
    const { size } = fstatSync(handle);
    closeSync(handle);
    if (size > STORE_REREAD_BYTES_MAX || headerFault(file) !== null) return false;
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

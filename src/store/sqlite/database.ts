import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import type { TenantId } from "../../core/id.ts";
import {
  LOG_KEPT_BYTES_MAX,
  LOG_PAGES_LEFT_MAX,
  STATEMENTS_PREPARED_MAX,
} from "../../core/limits.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { caseSafe } from "../../platform/case-safe.ts";
import { pageOf } from "../backend.ts";
import type { Page } from "../store.ts";
import { beginTerms, SessionCache } from "./batch.ts";
import { step } from "./failpoint.ts";
import { MIGRATIONS } from "./schema.ts";

/** When a write is safe: as soon as it is answered, or so late that a power cut may undo it. */
export type Durability = "full" | "relaxed";

export type DatabaseAccess = "make" | "write" | "read";

/** How long a foreign transaction may hold up the thread, and with it every tenant. */
const BUSY_MS = 250;

/** One tenant's database, with its statements prepared once. */
export class TenantDatabase {
  readonly #db: Database.Database;
  readonly sessions = new SessionCache();
  readonly #statements = new BoundedMap<string, Database.Statement<unknown[]>>(
    STATEMENTS_PREPARED_MAX,
  );

  constructor(file: string, access: DatabaseAccess) {
    // Where a file has just been removed, no empty one may come in its place.
    const options = { readonly: access === "read", fileMustExist: true, timeout: BUSY_MS };
    this.#db = new Database(file, options);
    this.#db.function("fold", { deterministic: true }, (text) => String(text).toLowerCase());
    try {
      // Only a database without tables can be made so that it gives free pages back in steps.
      if (access === "make") this.#db.pragma("auto_vacuum = INCREMENTAL");
      if (access !== "make" && versionOf(this.#db) === 0) throw new EmptyDatabase();
      if (versionOf(this.#db) > MIGRATIONS.length) throw new NewerDatabase(versionOf(this.#db));
      if (access !== "read") prepareForWriting(this.#db);
    } catch (thrown) {
      this.#db.close();
      throw thrown;
    }
  }

  /** Whether it has taken all steps that there are. */
  get isMigrated(): boolean {
    return versionOf(this.#db) === MIGRATIONS.length;
  }

  run(sql: string, ...values: readonly unknown[]): Database.RunResult {
    return this.#prepared(sql).run(...values);
  }

  /** The first row, as it came: the caller checks it. */
  get(sql: string, ...values: readonly unknown[]): SqlRow | undefined {
    const row: unknown = this.#prepared(sql).get(...values);
    return isRow(row) ? row : undefined;
  }

  all(sql: string, ...values: readonly unknown[]): readonly SqlRow[] {
    return this.#prepared(sql)
      .all(...values)
      .filter(isRow);
  }

  /** The rows one by one, for a caller that may not need all of them. */
  rows(sql: string, ...values: readonly unknown[]): Generator<SqlRow> {
    return this.#rows(sql, values);
  }

  /** As many rows as a page may have; the statement is not run to its end. */
  page(limit: number, sql: string, ...values: readonly unknown[]): Page<SqlRow> {
    return pageOf(this.#rows(sql, values), limit);
  }

  /** As many rows as weigh so much; but always one. */
  pageWithin(bytesMax: number, sql: string, ...values: readonly unknown[]): Page<SqlRow> {
    return pageOf(this.#rows(sql, values), Number.POSITIVE_INFINITY, bytesMax);
  }

  *#rows(sql: string, values: readonly unknown[]): Generator<SqlRow> {
    for (const row of this.#prepared(sql).iterate(...values)) if (isRow(row)) yield row;
  }

  /** From now on a power cut may take back the last commits. */
  relax() {
    this.#db.pragma("synchronous = NORMAL");
  }

  /** Changes whenever another connection has changed the database. */
  get dataVersion(): number {
    return Number(this.#db.pragma("data_version", { simple: true }));
  }

  /** Everything in one transaction; a throw takes all of it back. */
  transaction<Value>(mode: "deferred" | "immediate", work: () => Value): Value {
    return this.#db.transaction(work)[mode]();
  }

  /** Within a transaction: a throw takes back this part of it, and no more. */
  part<Value>(work: () => Value): Value {
    return this.#db.transaction(work)();
  }

  /** Statements without values and answers, one after the other. */
  execute(sql: string) {
    this.#db.exec(sql);
  }

  /** Whether it can give free pages back in steps; one of an earlier version cannot. */
  get isIncremental(): boolean {
    return Number(this.#db.pragma("auto_vacuum", { simple: true })) === INCREMENTAL;
  }

  /** Pages of the file that hold nothing. */
  get freePages(): number {
    return Number(this.#db.pragma("freelist_count", { simple: true }));
  }

  /** Gives up to so many free pages back, in one transaction. */
  vacuum(pagesMax: number) {
    this.#db.pragma(`incremental_vacuum(${pagesMax})`);
  }

  /** Writes all of it anew, without free pages, and so that it can be vacuumed in steps. */
  rebuild() {
    this.#db.pragma("auto_vacuum = INCREMENTAL");
    this.#db.exec("VACUUM");
  }

  /** Pages of the log that are not in the database yet. */
  get logPages(): number {
    const { log, checkpointed } = this.get("PRAGMA wal_checkpoint(NOOP)") ?? {};
    return Number(log) - Number(checkpointed);
  }

  /** Puts the log away, as far as no reader needs it. Only that makes the file shorter. */
  putLogAway(mode: "PASSIVE" | "TRUNCATE") {
    this.#db.pragma(`wal_checkpoint(${mode})`);
  }

  close() {
    this.#db.close();
  }

  #prepared(sql: string): Database.Statement<unknown[]> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What SQLite calls this mode of `auto_vacuum`. */
const INCREMENTAL = 2;

export type SqlRow = Readonly<Record<string, unknown>>;

function isRow(value: unknown): value is SqlRow {
  return typeof value === "object" && value !== null;
}

/** Every commit reaches the disk before it is answered, until `relax` is called. */
function prepareForWriting(db: Database.Database) {
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.pragma(`wal_autocheckpoint = ${LOG_PAGES_LEFT_MAX}`);
  // What grew while a backup kept it from being put away is given back afterwards.
  db.pragma(`journal_size_limit = ${LOG_KEPT_BYTES_MAX}`);
  migrate(db);
}

function migrate(db: Database.Database) {
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < versionOf(db)) continue;
    db.transaction(() => {
      if (index < versionOf(db)) return; // Another process has just done it.
      db.exec(migration);
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}

/** A database that has its name but not its tables was emptied by another program. */
class EmptyDatabase extends Error {
  readonly code = "SQLITE_CORRUPT_EMPTY";

  constructor() {
    super("its database has been emptied");
  }
}

function versionOf(db: Database.Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}

/** A database from a newer version is refused rather than guessed at. */
export class NewerDatabase extends Error {
  constructor(version: number) {
    super(`its database has version ${version}, which only a newer Fermata can read`);
  }
}

/**
 * The file of a tenant's database, made if there is none. It gets its name when it has its
 * tables, so that a file without them is known to have lost them. Only its owner may look.
 */
export function makeDatabaseFile(root: string, tenantId: TenantId): string {
  const file = databaseFile(root, tenantId);
  if (existsSync(file)) return file;
  // The directory above was made at the start: if it is gone, so are its sessions, and a new and
  // empty one in its place would only hide that.
  const folder = dirname(file);
  if (!existsSync(dirname(folder))) throw new Error(`its directory ${root} is gone`);
  makeFolder(folder);
  const draft = `${file}.${randomUUID()}`;
  closeSync(openSync(draft, "wx", 0o600));
  const made = new TenantDatabase(draft, "make");
  beginTerms(made);
  made.close();
  step("sqlite-before-naming");
  // A link never replaces: a process that has made this tenant meanwhile was first.
  unlessThere(() => linkSync(draft, file));
  rmSync(draft);
  syncFolder(folder);
  return file;
}

function unlessThere(make: () => void) {
  try {
    make();
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  }
}

/**
 * Removes what a crash left behind. A fresh draft may be of a process at work. A file under another
 * name, such as a copy that the operator keeps here, is not ours.
 */
export function removeDrafts(folder: string) {
  for (const name of readdirSync(folder)) {
    const draft = join(folder, name);
    if (!DRAFT.test(name)) continue;
    const { mtimeMs } = statSync(draft, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > DRAFT_MS_MAX) rmSync(draft, { force: true });
  }
}

/** Which file has this name, as long as that one is there; null if there is none. */
export function inodeOf(file: string): string | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}-${found.ino}`;
}

/** Makes a folder with all above it, each as durable as the one it stands in. */
export function makeFolder(folder: string) {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  unlessThere(() => mkdirSync(folder, { mode: 0o700 }));
  syncFolder(dirname(folder));
}

/** A name is as durable as the folder that it stands in. */
export function syncFolder(folder: string) {
  const handle = openSync(folder, "r");
  fsyncSync(handle);
  closeSync(handle);
}

export function databaseFile(root: string, tenantId: TenantId): string {
  return join(tenantFolder(root, tenantId), DATABASE_FILE);
}

export function tenantsFolder(root: string): string {
  return join(root, "tenants");
}

const DATABASE_FILE = "sessions.db";

const DRAFT = /^sessions\.db\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\w+)?$/;

/** Making a database takes milliseconds. */
const DRAFT_MS_MAX = 60_000;

export function tenantFolder(root: string, tenantId: TenantId): string {
  return join(tenantsFolder(root), caseSafe(tenantId));
}

import { existsSync } from "node:fs";
import { TENANT_DATABASES_OPEN_MAX } from "../../core/limits.ts";
import { inodeOf, type TenantDatabase } from "./database.ts";
import { wasRemoved } from "./tenant-removal.ts";

interface Handle {
  readonly database: TenantDatabase;
  readonly file: string;
  readonly inode: string;
}

/** The databases that a thread has open: the most recently used ones, and only while they exist. */
export class Handles {
  readonly #open: (file: string) => TenantDatabase;
  readonly #shut: (database: TenantDatabase) => void;
  readonly #handles = new Map<string, Handle>();
  /** What was there once, and which file it was; there are never more of them than tenants. */
  readonly #seen = new Map<string, string>();

  constructor(open: (file: string) => TenantDatabase, shut: (database: TenantDatabase) => void) {
    this.#open = open;
    this.#shut = shut;
  }

  /**
   * Whether there is such a database. One that was there and is not any more has been moved away
   * or deleted behind our back: then nobody can say what is in it, and least of all "nothing".
   * Only a tenant that was removed in good order has left nothing behind.
   */
  isThere(file: string): boolean {
    if (existsSync(file)) return true;
    this.drop(file);
    const inode = this.#seen.get(file);
    if (inode === undefined) return false;
    if (!wasRemoved(file, inode)) throw new Error(`its database ${file} is gone`);
    this.#seen.delete(file);
    return false;
  }

  /**
   * The database of this file. A file that was moved or deleted under an open handle would still
   * take writes, and lose them all: so the name is looked up every time.
   */
  get(file: string): TenantDatabase {
    if (this.hasMoved(file)) this.drop(file);
    const handle = this.#handles.get(file) ?? this.#opened(file);
    this.#handles.delete(file);
    this.#handles.set(file, handle);
    this.#seen.set(file, handle.inode);
    const [oldest] = this.#handles.keys();
    if (this.#handles.size > TENANT_DATABASES_OPEN_MAX && oldest !== undefined) this.drop(oldest);
    return handle.database;
  }

  /**
   * Whether the file of an open handle is not the one of its name any more. Asked by whoever has
   * the database's write lock, the answer holds until that is given back: a tenant is removed by
   * somebody who has it.
   */
  hasMoved(file: string): boolean {
    const known = this.#handles.get(file);
    return known !== undefined && known.inode !== inodeOf(file);
  }

  /** Closes it, and does not miss it: its tenant was removed. */
  forget(file: string) {
    this.drop(file);
    this.#seen.delete(file);
  }

  drop(file: string) {
    const handle = this.#handles.get(file);
    this.#handles.delete(file);
    if (handle === undefined) return;
    try {
      this.#shut(handle.database);
    } catch {
      // What is dropped because it is broken may be too broken to be closed in good order.
    } finally {
      handle.database.close();
    }
  }

  dropAll() {
    for (const file of [...this.#handles.keys()]) this.drop(file);
  }

  /** SQLite opens the log beside a database by name: both must be of one and the same tenant. */
  #opened(file: string): Handle {
    const inode = inodeOf(file);
    if (inode === null) throw new MovedDatabase(file);
    const database = this.#open(file);
    if (inode === inodeOf(file)) return { database, file, inode };
    database.close();
    throw new MovedDatabase(file);
  }
}

/** Nothing was read or written: whoever tries again finds what is there now. */
export class MovedDatabase extends Error {
  constructor(file: string) {
    super(`its database ${file} was moved or removed just now`);
  }
}

import { existsSync, statSync } from "node:fs";
import { TENANT_DATABASES_OPEN_MAX } from "../../core/limits.ts";
import type { TenantDatabase } from "./database.ts";

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
  /** What was there once; there are never more of them than tenants. */
  readonly #seen = new Set<string>();

  constructor(open: (file: string) => TenantDatabase, shut: (database: TenantDatabase) => void) {
    this.#open = open;
    this.#shut = shut;
  }

  /**
   * Whether there is such a database. One that was there and is not any more has been moved away
   * or deleted behind our back: then nobody can say what is in it, and least of all "nothing".
   */
  isThere(file: string): boolean {
    if (existsSync(file)) return true;
    if (!this.#seen.has(file)) return false;
    this.drop(file);
    throw new Error(`its database ${file} is gone`);
  }

  /**
   * The database of this file. A file that was moved or deleted under an open handle would still
   * take writes, and lose them all: so the name is looked up every time.
   */
  get(file: string): TenantDatabase {
    const known = this.#handles.get(file);
    if (known !== undefined && known.inode !== inodeOf(file)) this.drop(file);
    const handle = this.#handles.get(file) ?? {
      database: this.#open(file),
      file,
      inode: inodeOf(file),
    };
    this.#handles.delete(file);
    this.#handles.set(file, handle);
    this.#seen.add(file);
    const [oldest] = this.#handles.keys();
    if (this.#handles.size > TENANT_DATABASES_OPEN_MAX && oldest !== undefined) this.drop(oldest);
    return handle.database;
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
}

function inodeOf(file: string): string {
  const { dev, ino } = statSync(file, { bigint: true });
  return `${dev}:${ino}`;
}

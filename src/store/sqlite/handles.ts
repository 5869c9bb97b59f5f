import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { TENANT_DATABASES_OPEN_MAX } from "../../core/limits.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { describeHolder, type Holder, mayTake, readHolder } from "../holder.ts";
import {
  databaseFile,
  inodeOf,
  type TenantDatabase,
  tenantFolder,
  tenantsFolder,
} from "./database.ts";
import { step } from "./failpoint.ts";

interface Handle {
  readonly database: TenantDatabase;
  readonly file: string;
  readonly inode: string;
}

/** The databases that a thread has open: the most recently used ones, and only while they exist. */
export class Handles {
  readonly #open: (file: string) => TenantDatabase;
  readonly #shut: (database: TenantDatabase) => void;
  readonly #handles = new BoundedMap<string, Handle>(TENANT_DATABASES_OPEN_MAX, (handle) => {
    this.#close(handle);
  });
  /** What was there once, and which file it was; there are never more of them than tenants. */
  readonly #seen = new Map<string, string>();

  constructor(open: (file: string) => TenantDatabase, shut: (database: TenantDatabase) => void) {
    this.#open = open;
    this.#shut = shut;
  }

  /**
   * Whether there is such a database. One that was there and is not any more has been moved away
   * or deleted behind our back: its content is unknown, and "nothing" would be wrong. Only a
   * tenant that was removed in good order has left nothing behind.
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
    this.#handles.set(file, handle); // The most recently used one.
    this.#seen.set(file, handle.inode);
    return handle.database;
  }

  /** The database of this file if it is open and still its own. Opens nothing, and ages nothing. */
  peek(file: string): TenantDatabase | null {
    return this.hasMoved(file) ? null : (this.#handles.get(file)?.database ?? null);
  }

  /**
   * Whether the file of an open handle is not the one of its name any more. For a caller that has
   * the database's write lock the answer holds until it releases the lock: a tenant is removed
   * under that lock.
   */
  hasMoved(file: string): boolean {
    const known = this.#handles.get(file);
    return known !== undefined && known.inode !== inodeOf(file);
  }

  /** Databases that were there once, are not any more, and whose tenants were not removed. */
  get lost(): readonly string[] {
    const gone = [...this.#seen].filter(([file, inode]) => {
      return !existsSync(file) && !wasRemoved(file, inode);
    });
    return gone.map(([file]) => file);
  }

  /** Closes it, and does not miss it: its tenant was removed. */
  forget(file: string) {
    this.drop(file);
    this.#seen.delete(file);
  }

  drop(file: string) {
    const handle = this.#handles.get(file);
    this.#handles.delete(file);
    if (handle !== undefined) this.#close(handle);
  }

  dropAll() {
    for (const file of [...this.#handles.keys()]) this.drop(file);
  }

  #close({ database }: Handle) {
    try {
      this.#shut(database);
    } catch {
      // A database that is dropped because it is broken may be too broken to shut in good order.
    } finally {
      database.close();
    }
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

/** Nothing was read or written: a second attempt finds what is there now. */
export class MovedDatabase extends Error {
  constructor(file: string) {
    super(`its database ${file} was moved or removed just now`);
  }
}

/**
 * Takes a tenant's folder from its name, inside a transaction on its database. That is the moment
 * of its removal. Every writer looks, while it has the same lock, whether the database still has
 * its name: so none writes into one that is removed, and none is removed under a write.
 */
export function takeAway(
  db: TenantDatabase,
  root: string,
  tenantId: TenantId,
  holder: Holder,
): Result<void> {
  for (const row of db.all(HOLDERS)) {
    const held = readHolder(String(row.holder));
    if (held !== null && !mayTake(held, holder)) {
      return fail("session_locked", { holder: describeHolder(held) });
    }
  }
  const away = `${awayFor(inodeOf(databaseFile(root, tenantId)))}${randomUUID()}`;
  step("sqlite-before-tenant-removal");
  renameSync(tenantFolder(root, tenantId), join(tenantsFolder(root), away));
  step("sqlite-amid-tenant-removal");
  return DONE;
}

/**
 * Clears what has been taken away. What cannot be cleared now is cleared at the next start. While
 * others have the store open the empty folder stays, which tells them that nothing is missing.
 */
export function clearAway(root: string, { isAlone }: { readonly isAlone: boolean }) {
  for (const name of namesIn(tenantsFolder(root))) {
    if (!name.startsWith(AWAY)) continue;
    const folder = join(tenantsFolder(root), name);
    try {
      for (const file of readdirSync(folder)) {
        rmSync(join(folder, file), { recursive: true, force: true });
      }
      if (isAlone) rmdirSync(folder);
    } catch {
      // No tenant has this name, so it does no harm.
    }
  }
}

/** Whether the tenant of a database that was there was removed, by whichever process. */
function wasRemoved(file: string, inode: string): boolean {
  return namesIn(dirname(dirname(file))).some((name) => name.startsWith(awayFor(inode)));
}

/** None where there is no folder any more, or none that we may look into. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** No id begins with a plus, so it is never taken for a tenant. */
const AWAY = "+removed-";

/** Says which database it was, to a process that has seen that database. */
const awayFor = (inode: string | null) => `${AWAY}${inode}-`;

const HOLDERS = "SELECT DISTINCT holder FROM sessions WHERE holder IS NOT NULL";

import { statSync } from "node:fs";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { VACUUM_KEPT_PAGES_MAX, VACUUM_STEP_PAGES_MAX } from "../../core/limits.ts";
import { idOfCaseSafe } from "../../platform/case-safe.ts";
import { describeHolder } from "../holder.ts";
import { databaseFile, TenantDatabase } from "./database.ts";
import { reasonOf } from "./fault.ts";
import type { Handles } from "./handles.ts";
import { openersOf, unreadableIn } from "./openers.ts";

/**
 * Gives the disk back what deleted sessions have left, in small steps of the writing thread. Calls
 * that arrive are served between two steps.
 */
export class Vacuuming {
  readonly #handles: Pick<Handles, "get" | "isThere">;
  readonly #files = new Set<string>();
  #next: NodeJS.Immediate | null = null;

  constructor(handles: Pick<Handles, "get" | "isThere">) {
    this.#handles = handles;
  }

  begin(file: string) {
    this.#files.add(file);
    this.#next ??= setImmediate(() => this.#step());
  }

  end() {
    if (this.#next !== null) clearImmediate(this.#next);
    this.#next = null;
    this.#files.clear();
  }

  #step() {
    this.#next = null;
    const [file] = this.#files;
    if (file === undefined) return;
    // What fails now, as on a disk that is full, is made up for after the next deletion.
    if (!this.#hasMore(file)) this.#files.delete(file);
    if (this.#files.size > 0) this.#next = setImmediate(() => this.#step());
  }

  #hasMore(file: string): boolean {
    try {
      if (!this.#handles.isThere(file)) return false;
      return vacuumStep(this.#handles.get(file));
    } catch {
      return false;
    }
  }
}

/** One step; answers whether there is more to give back. At the end the file gets shorter. */
function vacuumStep(database: TenantDatabase): boolean {
  if (!database.isIncremental) return false;
  const before = database.freePages;
  const surplus = before - VACUUM_KEPT_PAGES_MAX;
  if (surplus > 0) database.vacuum(Math.min(surplus, VACUUM_STEP_PAGES_MAX));
  const left = database.freePages;
  const hasMore = left > VACUUM_KEPT_PAGES_MAX && left < before;
  if (!hasMore) database.putLogAway("PASSIVE");
  return hasMore;
}

/** What a vacuum did with one tenant's database. */
export interface Vacuumed {
  readonly tenantId: TenantId;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Why nothing was done; null if it was. */
  readonly fault: string | null;
}

/**
 * Vacuums the databases of these tenants. A database of an earlier version is written anew as a
 * whole, which needs it alone; the others can be vacuumed beside a running server.
 */
export function vacuumTenants(root: string, names: readonly string[]): readonly Vacuumed[] {
  const done: Vacuumed[] = [];
  for (const name of names) {
    const tenantId = parseTenantId(idOfCaseSafe(name) ?? "");
    if (tenantId === null) continue;
    const file = databaseFile(root, tenantId);
    const bytesBefore = bytesOf(file);
    if (bytesBefore === 0) continue;
    const fault = vacuumed(root, file);
    done.push({ tenantId, bytesBefore, bytesAfter: bytesOf(file), fault });
  }
  return done;
}

function vacuumed(root: string, file: string): string | null {
  try {
    const database = new TenantDatabase(file, "write");
    try {
      if (!database.isIncremental) {
        const holder = holderOf(root);
        if (holder !== null) return `stop the server first, an earlier version made it (${holder})`;
        database.rebuild();
      }
      while (vacuumStep(database));
      database.putLogAway("TRUNCATE");
      return null;
    } finally {
      database.close();
    }
  } catch (thrown) {
    return reasonOf(thrown);
  }
}

/** Who may have the directory open; null if it is known that no process has. */
function holderOf(root: string): string | null {
  const [holder] = openersOf(root);
  const [unreadable] = unreadableIn(root);
  if (holder !== undefined) return describeHolder(holder);
  return unreadable === undefined ? null : `see ${unreadable}`;
}

/** Of the database and its log together; 0 if there is none. */
function bytesOf(file: string): number {
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const size = sizeOf(file);
  return size === 0 ? 0 : size + sizeOf(`${file}-wal`);
}

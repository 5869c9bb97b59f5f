import { randomUUID } from "node:crypto";
import { readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TenantId } from "../../core/id.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import { describeHolder, type Holder, mayTake, readHolder } from "../holder.ts";
import {
  databaseFile,
  inodeOf,
  type TenantDatabase,
  tenantFolder,
  tenantsFolder,
} from "./database.ts";
import { step } from "./step.ts";

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
      // It has no name that anybody asks for, so it is in nobody's way.
    }
  }
}

/** Whether the tenant of a database that was there was removed, by whichever process. */
export function wasRemoved(file: string, inode: string): boolean {
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

/** No id begins with a plus, so nobody takes it for a tenant. */
const AWAY = "+removed-";

/** Says which database it was, to whoever has seen that. */
const awayFor = (inode: string | null) => `${AWAY}${inode}-`;

const HOLDERS = "SELECT DISTINCT holder FROM sessions WHERE holder IS NOT NULL";

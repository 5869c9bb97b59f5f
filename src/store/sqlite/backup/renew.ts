import { randomUUID } from "node:crypto";
import type { Result } from "../../../core/result.ts";
import type { JournalEntry } from "../../store.ts";
import { Batch } from "../batch.ts";
import { leapTerms } from "../counter.ts";
import { TenantDatabase } from "../database.ts";
import { forgetOpeners, renewEpochs } from "../epoch.ts";
import { appendJournal } from "../tenant.ts";

/**
 * Makes a copied database one that a server can begin with: its logs have new epochs, because what
 * came after the copy is lost and its ids will be used again; nobody holds any of its sessions;
 * terms go on where the lost ones cannot have been; and the audit says so. Throws if SQLite finds
 * the file damaged.
 */
export function renew(file: string, entry: JournalEntry): Result<void> {
  const db = new TenantDatabase(file, "write");
  try {
    const found = db.get("PRAGMA integrity_check(1)");
    const verdict = String(Object.values(found ?? {})[0]);
    if (verdict !== "ok") throw new Error(`SQLite finds it damaged: ${verdict}`);
    return db.transaction("immediate", () => {
      renewEpochs(db, randomUUID, { isFreed: true });
      forgetOpeners(db);
      leapTerms(db);
      const batch = new Batch(db);
      const told = appendJournal(batch, [entry]);
      batch.flush();
      return told;
    });
  } finally {
    db.close();
  }
}

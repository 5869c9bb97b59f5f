import type { Durability, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

/**
 * Under relaxed durability a power cut can take back commits that clients have seen. So a database
 * says that it is open under it, and if the next opener finds it still saying so, every log gets a
 * new epoch: clients then know that their cursors mean nothing any more.
 */
export function markOpen(db: TenantDatabase, durability: Durability, freshEpoch: () => string) {
  if (stateOf(db) === RELAXED) db.transaction("immediate", () => renewEpochs(db, freshEpoch));
  setState(db, durability === "relaxed" ? RELAXED : SAFE);
  if (durability === "relaxed") db.relax(); // Only now: the mark itself must not be taken back.
}

export function markClosed(db: TenantDatabase) {
  setState(db, SAFE);
}

const RELAXED = "open under relaxed durability";
const SAFE = "safe";

function stateOf(db: TenantDatabase): unknown {
  return db.get("SELECT value FROM meta WHERE name = 'state'")?.value;
}

/** Nothing is written where nothing changes: opening a database must not cost a commit. */
function setState(db: TenantDatabase, state: string) {
  if ((stateOf(db) ?? SAFE) === state) return;
  db.run("INSERT OR REPLACE INTO meta (name, value) VALUES ('state', ?)", state);
}

function renewEpochs(db: TenantDatabase, freshEpoch: () => string) {
  for (const row of db.all("SELECT * FROM sessions")) {
    const session = rows.readSession(row);
    if (!session.ok) continue; // What is damaged stays as it is.
    const renewed = { ...session.value, epoch: freshEpoch() };
    db.run(rows.UPDATE_SESSION, ...rows.sessionValues(renewed), renewed.number);
  }
}

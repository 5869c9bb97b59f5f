import { type Holder, isAliveHere, readHolder } from "../holder.ts";
import type { Durability, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

/**
 * Under relaxed durability a power cut can take back commits that clients have seen. So whoever
 * opens a database under it leaves its name there until it closes it. If the name of somebody is
 * found who is gone, every log gets a new epoch: clients then know that their cursors mean nothing
 * any more. One on another machine, or under another name of this one, counts as gone too: a new
 * epoch costs clients one load, and its absence what they have seen and nobody has.
 */
export function markOpen(
  db: TenantDatabase,
  durability: Durability,
  opener: Holder,
  freshEpoch: () => string,
) {
  const gone = openersOf(db).filter(isOver);
  const isRelaxed = durability === "relaxed";
  // Nothing is written where nothing changes: opening a database must not cost a commit.
  if (gone.length > 0 || isRelaxed) {
    db.transaction("immediate", () => {
      if (gone.length > 0) renewEpochs(db, freshEpoch, { isFreed: false });
      for (const { name } of gone) db.run(REMOVE_OPENER, name);
      if (isRelaxed) db.run(ADD_OPENER, JSON.stringify(opener));
    });
  }
  if (isRelaxed) db.relax(); // Only now: the mark itself must not be taken back.
}

/** Whether somebody is gone whom the next one that may write has to clear up after. */
export function needsRenewal(db: TenantDatabase): boolean {
  return openersOf(db).some(isOver);
}

export function markClosed(db: TenantDatabase, opener: Holder) {
  const name = JSON.stringify(opener);
  if (openersOf(db).some((other) => other.name === name)) db.run(REMOVE_OPENER, name);
}

/** Whoever had the database open that this one is a copy of does not have this one. */
export function forgetOpeners(db: TenantDatabase) {
  db.run("DELETE FROM relaxed_openers");
}

interface Opener {
  readonly name: string;
  /** A name that cannot be read is nobody's, so whoever it was is gone. */
  readonly holder: Holder | null;
}

const isOver = ({ holder }: Opener) => holder === null || !isAliveHere(holder);

function openersOf(db: TenantDatabase): readonly Opener[] {
  return db.all("SELECT holder FROM relaxed_openers").map((row) => {
    const name = String(row.holder);
    return { name, holder: readHolder(name) };
  });
}

const ADD_OPENER = "INSERT OR IGNORE INTO relaxed_openers (holder) VALUES (?)";
const REMOVE_OPENER = "DELETE FROM relaxed_openers WHERE holder = ?";

/** Gives every log another identity; and takes its sessions from whoever held them, if told to. */
export function renewEpochs(
  db: TenantDatabase,
  freshEpoch: () => string,
  { isFreed }: { readonly isFreed: boolean },
) {
  for (const row of db.all("SELECT * FROM sessions")) {
    const session = rows.readSession(row);
    if (!session.ok) continue; // What is damaged stays as it is.
    const holder = isFreed ? null : session.value.holder;
    const renewed = { ...session.value, epoch: freshEpoch(), holder };
    db.run(rows.UPDATE_SESSION, ...rows.sessionValues(renewed), renewed.number);
  }
}

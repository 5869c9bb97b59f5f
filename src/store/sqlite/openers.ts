import {
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Holder, isAliveHere, isGone, readHolder } from "../holder.ts";
import type { Durability, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

/**
 * Notes that a process has a store's directory open, in one small file each. Many processes may
 * have it open; but a restore has to know that none has. The next process to come clears the notes
 * of those that crashed.
 *
 * Answers whether the note could be written. Where it could not, as in a folder that another user
 * has made, the store is opened all the same.
 */
export function noteOpen(root: string, opener: Holder): boolean {
  const folder = folderOf(root);
  return succeeds(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // What a link points to is not ours to write in, and still less to give away.
    if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is no directory`);
    giveToOwner(root, folder);
    for (const { file, isReadable, holder } of notes(root)) {
      const isOver = isReadable && (holder === null || isGone(holder));
      if (isOver) succeeds(() => rmSync(file, { force: true }));
    }
    const own = noteFile(root, opener);
    writeFileSync(own, JSON.stringify(opener), { mode: 0o600 });
    giveToOwner(root, own);
  });
}

/** On a disk that takes no writes any more it stays, until its process is known to be gone. */
export function noteClosed(root: string, opener: Holder) {
  succeeds(() => rmSync(noteFile(root, opener), { force: true }));
}

/** All who may still have it open, as far as we may read their notes. */
export function openersOf(root: string): readonly Holder[] {
  const holders = notes(root).map(({ holder }) => holder);
  return holders.filter((holder) => holder !== null).filter((holder) => !isGone(holder));
}

/** All others who may. */
export function othersIn(root: string, self: Holder): readonly Holder[] {
  return openersOf(root).filter(({ label }) => label !== self.label);
}

/** Notes that cannot be read, as those of another user: each may be of a process at work. */
export function unreadableIn(root: string): readonly string[] {
  return notes(root)
    .filter(({ isReadable }) => !isReadable)
    .map(({ file }) => file);
}

/** Whether it is known that no other process has it open. */
export function isAlone(root: string, self: Holder): boolean {
  return othersIn(root, self).length === 0 && unreadableIn(root).length === 0;
}

/** Labels of openers are ids of ours, so they are good names for files. */
export function noteFile(root: string, { label }: Holder): string {
  return join(folderOf(root), `${label}.json`);
}

interface Note {
  readonly file: string;
  readonly isReadable: boolean;
  /** Null if the note makes no sense: a process writes its note in one go. */
  readonly holder: Holder | null;
}

function notes(root: string): readonly Note[] {
  const folder = folderOf(root);
  const names = readOr<readonly string[]>([], () => readdirSync(folder));
  if (names === null) return [{ file: folder, isReadable: false, holder: null }];
  return names.map((name) => {
    const file = join(folder, name);
    const text = readOr("", () => readFileSync(file, "utf8"));
    return { file, isReadable: text !== null, holder: readHolder(text ?? "") };
  });
}

/**
 * What is gone by the time that it is looked at was closed in good order. Null is what is there
 * and cannot be read.
 */
function readOr<Value>(missing: Value, read: () => Value): Value | null {
  try {
    return read();
  } catch (thrown) {
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    return isMissing ? missing : null;
  }
}

/**
 * What root leaves here belongs to the store's owner, as SQLite does it with its files: a server
 * that runs as that user has to read it.
 */
function giveToOwner(root: string, path: string) {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(root);
  if (lstatSync(path).uid !== uid) lchownSync(path, uid, gid);
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

const folderOf = (root: string) => join(root, "open");

/**
 * Under relaxed durability a power cut can take back commits that clients have seen. So a process
 * that opens a database under it leaves its name there until it closes it. If a name is found
 * whose process is gone, every log gets a new epoch: clients then know that their cursors mean
 * nothing any more. A process on another machine, or under another name of this one, counts as gone
 * too: a new epoch costs clients one load, and without it they keep events that no log has.
 */
export function markOpen(
  db: TenantDatabase,
  durability: Durability,
  opener: Holder,
  freshEpoch: () => string,
) {
  const gone = relaxedOpeners(db).filter(isOver);
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

/** Whether a process is gone whose relaxed commits may be lost. */
export function needsRenewal(db: TenantDatabase): boolean {
  return relaxedOpeners(db).some(isOver);
}

export function markClosed(db: TenantDatabase, opener: Holder) {
  const name = JSON.stringify(opener);
  if (relaxedOpeners(db).some((other) => other.name === name)) db.run(REMOVE_OPENER, name);
}

/** For a copy: the openers of the original do not have the copy open. */
export function forgetOpeners(db: TenantDatabase) {
  db.run("DELETE FROM relaxed_openers");
}

interface Opener {
  readonly name: string;
  /** Null if the name cannot be read; then its process counts as gone. */
  readonly holder: Holder | null;
}

const isOver = ({ holder }: Opener) => holder === null || !isAliveHere(holder);

function relaxedOpeners(db: TenantDatabase): readonly Opener[] {
  return db.all("SELECT holder FROM relaxed_openers").map((row) => {
    const name = String(row.holder);
    return { name, holder: readHolder(name) };
  });
}

const ADD_OPENER = "INSERT OR IGNORE INTO relaxed_openers (holder) VALUES (?)";
const REMOVE_OPENER = "DELETE FROM relaxed_openers WHERE holder = ?";

/** Gives every log another identity; `isFreed` also takes the sessions from their holders. */
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

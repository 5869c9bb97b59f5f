import type { DocumentText } from "../backend.ts";
import { checkPosition, trimmedThrough } from "../check.ts";
import { describeHolder, type Holder, isGone, isThisProcess } from "../holder.ts";
import { DONE, fail, ok, type Result } from "../result.ts";
import type * as S from "../store.ts";
import type { Batch } from "./batch.ts";
import type { TenantDatabase } from "./database.ts";
import { readSlots } from "./read.ts";
import * as rows from "./row.ts";
import { step } from "./step.ts";

/**
 * What the writing thread does, inside the transaction of its batch. Everything that can refuse
 * is asked before the first row is written, so that one refusal leaves no trace and disturbs no
 * other commit of the batch. Only the disk can fail after that, and then all of it is taken back.
 */

export function create(batch: Batch, key: S.SessionKey, created: S.NewSession): Result<S.Owned> {
  const { sessionId } = key;
  const { holder, manifest, record, epoch, commit } = created;
  const fresh: rows.SessionRow = {
    ...record,
    number: batch.nextNumber(),
    sessionId,
    storeId: manifest.storeId,
    epoch,
    term: batch.nextTerm(),
    holder,
    revision: 0,
    lastEventId: 0,
    snapshotEventId: 0,
    earliestEventId: 1,
    messageCount: 0,
    turnCount: 0,
    slotCount: 0,
    manifest,
    createdAtMs: manifest.createdAt,
  };
  if (batch.has(sessionId)) return fail("session_id_conflict", { sessionId });
  const entries = mayApply(batch, fresh, commit);
  if (!entries.ok) return entries;
  batch.insert(fresh);
  step("sqlite-after-session");
  if (isThisProcess(holder)) batch.claims.set(sessionId, fresh.term);
  const { revision } = apply(batch, fresh, { ...commit, journal: entries.value });
  return ok({ term: fresh.term, revision });
}

export function acquire(
  batch: Batch,
  key: S.SessionKey,
  storeId: string,
  holder: Holder,
  audit: readonly S.JournalEntry[],
): Result<S.Opened> {
  const found = batch.session(key.sessionId, storeId);
  if (!found.ok) return found;
  const replaced = found.value.holder;
  if (replaced !== null && !isGone(replaced)) {
    return fail("session_locked", { holder: describeHolder(replaced) });
  }
  const slots = readSlots(batch.db, found.value);
  if (!slots.ok) return slots;
  const entries = freshEntries(batch.db, audit);
  if (!entries.ok) return entries;
  appendEntries(batch.db, entries.value);
  const session = { ...found.value, term: batch.nextTerm(), holder };
  batch.change(session);
  if (isThisProcess(holder)) batch.claims.set(session.sessionId, session.term);
  const record = rows.recordOf(session);
  if (!record.ok) return record;
  const { term, manifest } = session;
  return ok({ term, record: record.value, manifest, slots: slots.value, replaced });
}

export function commit(
  batch: Batch,
  key: S.SessionKey,
  storeId: string,
  term: number,
  change: S.Commit,
): Result<S.Committed> {
  const found = batch.session(key.sessionId, storeId);
  if (!found.ok) return found;
  const session = found.value;
  if (session.holder === null || session.term !== term) return fail("writer_lost");
  const entries = mayApply(batch, session, change);
  if (!entries.ok) return entries;
  const fresh = { ...change, journal: entries.value };
  const { revision, lastEventId } = apply(batch, session, fresh);
  return ok({ revision, lastEventId });
}

/** Whether a commit may be written, and which of its journal entries are not there yet. */
function mayApply(batch: Batch, session: rows.SessionRow, change: S.Commit) {
  const { lastEventId, revision, snapshotEventId, manifest, number } = session;
  const slotOwners = change.snapshot ? batch.slotOwners(number) : new Set<string>();
  const continues = checkPosition(change, {
    lastEventId,
    revision,
    snapshotEventId,
    slotOwners,
    manifest,
  });
  return continues.ok ? freshEntries(batch.db, change.journal) : continues;
}

function apply(batch: Batch, session: rows.SessionRow, change: S.Commit): rows.SessionRow {
  const { db } = batch;
  const { number } = session;
  for (const { id, text } of change.events) {
    db.run(INSERT_EVENT, number, id, text, rows.checksum(text, id));
  }
  step("sqlite-after-events");
  appendEntries(db, change.journal);
  step("sqlite-after-journal");
  const lastEventId = session.lastEventId + change.events.length;
  const appended = { ...session, ...change.record, lastEventId };
  const next = change.snapshot ? snapshot(db, appended, change.snapshot) : appended;
  if (change.snapshot || change.record) batch.change(next);
  else batch.append(next);
  return next;
}

function snapshot(db: TenantDatabase, session: rows.SessionRow, change: S.Snapshot) {
  const { number, lastEventId } = session;
  let { messageCount, turnCount, earliestEventId } = session;
  for (const slot of change.slots) {
    const { owner, version, payload } = slot;
    db.run(WRITE_SLOT, number, owner, version, payload, rows.slotChecksum(slot));
  }
  for (const owner of change.removedSlots) db.run(DELETE_SLOT, number, owner);
  const slotCount = Number(db.get(COUNT_SLOTS, number)?.count);
  step("sqlite-after-slots");
  for (const text of change.messages) {
    messageCount += 1;
    db.run(INSERT_MESSAGE, number, messageCount, text, rows.checksum(text, messageCount));
  }
  step("sqlite-after-messages");
  if (change.turn) {
    const { firstId, lastId, text } = change.turn;
    turnCount += 1;
    const sum = rows.rowChecksum(turnCount, firstId, lastId, text);
    db.run(INSERT_TURN, number, turnCount, firstId, lastId, text, sum);
  }
  step("sqlite-after-turn");
  const through = trimmedThrough(change, lastEventId);
  if (through >= earliestEventId) {
    db.run(TRIM_EVENTS, number, through);
    earliestEventId = through + 1;
    step("sqlite-after-trim");
  }
  const { manifest } = change;
  const revision = session.revision + 1;
  const at = { snapshotEventId: lastEventId, earliestEventId };
  return { ...session, ...at, revision, manifest, messageCount, turnCount, slotCount };
}

export function release(batch: Batch, key: S.SessionKey, storeId: string, term: number) {
  const found = batch.session(key.sessionId, storeId);
  if (found.ok && found.value.term === term) {
    batch.change({ ...found.value, holder: null });
    batch.claims.set(key.sessionId, null);
  }
  return DONE;
}

export function remove(
  batch: Batch,
  key: S.SessionKey,
  storeId: string,
  audit: readonly S.JournalEntry[],
): Result<void> {
  const found = batch.session(key.sessionId, storeId);
  if (!found.ok) return found;
  const entries = freshEntries(batch.db, audit);
  if (!entries.ok) return entries;
  appendEntries(batch.db, entries.value);
  const { number } = found.value;
  for (const table of SESSION_TABLES) {
    batch.db.run(`DELETE FROM ${table} WHERE number = ?`, number);
    step("sqlite-amid-removal");
  }
  batch.forget(key.sessionId);
  batch.claims.set(key.sessionId, null);
  return DONE;
}

const SESSION_TABLES = ["events", "turns", "messages", "slots", "sessions"] as const;

export function appendJournal(batch: Batch, entries: readonly S.JournalEntry[]): Result<void> {
  const fresh = freshEntries(batch.db, entries);
  if (!fresh.ok) return fresh;
  appendEntries(batch.db, fresh.value);
  return DONE;
}

/**
 * The entries that are not there yet. A key that is there must bring the same text. Nothing is
 * left to the database to ignore, because that would leave gaps in the numbers.
 */
function freshEntries(
  db: TenantDatabase,
  entries: readonly S.JournalEntry[],
): Result<readonly S.JournalEntry[]> {
  const brought = new Map<string, string>();
  const fresh: S.JournalEntry[] = [];
  for (const entry of entries) {
    const { journal, key, text } = entry;
    const name = `${journal} ${key}`;
    const known = brought.get(name) ?? db.get(FIND_ENTRY, journal, key)?.text;
    if (known !== undefined && known !== text) return fail("journal_conflict", { journal, key });
    if (known === undefined) fresh.push(entry);
    brought.set(name, text);
  }
  return ok(fresh);
}

function appendEntries(db: TenantDatabase, entries: readonly S.JournalEntry[]) {
  for (const { journal, key, sessionId, atMs, text } of entries) {
    const sum = rows.rowChecksum(journal, key, sessionId, atMs, text);
    db.run(INSERT_ENTRY, journal, key, sessionId, atMs, text, sum);
  }
}

/** A deleted document leaves its version behind, so that it is not used again. */
export function writeDocument(batch: Batch, document: DocumentText): Result<number> {
  const { kind, key, expectedVersion, text } = document;
  const known = batch.db.get(FIND_DOCUMENT, kind, key);
  const last = Number(known?.version ?? 0);
  const version = typeof known?.text === "string" ? last : 0;
  if (version !== expectedVersion) {
    return fail("document_conflict", { version, expected: expectedVersion });
  }
  const sum = rows.rowChecksum(kind, key, last + 1, text);
  batch.db.run(WRITE_DOCUMENT, kind, key, last + 1, text, sum);
  return ok(last + 1);
}

export function writeBlob(batch: Batch, hash: string, bytes: Uint8Array): Result<void> {
  batch.db.run("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?, ?)", hash, bytes);
  return DONE;
}

const INSERT_EVENT = "INSERT INTO events (number, id, text, checksum) VALUES (?, ?, ?, ?)";
const TRIM_EVENTS = "DELETE FROM events WHERE number = ? AND id <= ?";
const INSERT_MESSAGE = "INSERT INTO messages (number, id, text, checksum) VALUES (?, ?, ?, ?)";
const INSERT_TURN =
  "INSERT INTO turns (number, id, first_id, last_id, text, checksum) VALUES (?, ?, ?, ?, ?, ?)";
const COUNT_SLOTS = "SELECT count(*) AS count FROM slots WHERE number = ?";
const WRITE_SLOT = `
  INSERT OR REPLACE INTO slots (number, owner, version, payload, checksum)
  VALUES (?, ?, ?, ?, ?)`;
const DELETE_SLOT = "DELETE FROM slots WHERE number = ? AND owner = ?";
const FIND_ENTRY = "SELECT text FROM journal WHERE journal = ? AND key = ?";
const INSERT_ENTRY = `
  INSERT INTO journal (journal, key, session_id, at_ms, text, checksum)
  VALUES (?, ?, ?, ?, ?, ?)`;
const FIND_DOCUMENT = "SELECT version, text FROM documents WHERE kind = ? AND key = ?";
const WRITE_DOCUMENT = `
  INSERT OR REPLACE INTO documents (kind, key, version, text, checksum)
  VALUES (?, ?, ?, ?, ?)`;

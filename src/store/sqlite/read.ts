import { parseSessionId } from "../../core/id.ts";
import type { DocumentQuery, DocumentRows, ListRange, ListRows } from "../backend.ts";
import { fail, ok, type Result } from "../result.ts";
import type * as S from "../store.ts";
import type { Row, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

/** What the reading thread does; each call sees one moment of the database. */

function session(db: TenantDatabase, key: S.SessionKey, storeId: string): Result<rows.SessionRow> {
  const { sessionId } = key;
  const row = db.get("SELECT * FROM sessions WHERE session_id = ?", sessionId);
  if (row === undefined) return fail("session_not_found", { sessionId });
  if (row.store_id === storeId) return rows.readSession(row);
  return fail("resume_mismatch", { stored: String(row.store_id), active: storeId });
}

export function readRecord(db: TenantDatabase, key: S.SessionKey, storeId: string) {
  const found = session(db, key, storeId);
  return found.ok ? rows.recordOf(found.value) : found;
}

export function readManifest(db: TenantDatabase, key: S.SessionKey, storeId: string) {
  const found = session(db, key, storeId);
  return found.ok ? ok(found.value.manifest) : found;
}

export function readEvents(
  db: TenantDatabase,
  key: S.SessionKey,
  storeId: string,
  { after, limit }: S.Range,
): Result<S.EventPage> {
  const found = session(db, key, storeId);
  if (!found.ok) return found;
  const { number, epoch, earliestEventId, lastEventId } = found.value;
  const from = Math.max(after, earliestEventId - 1);
  const page = db.all(PAGE_OF_EVENTS, number, from, limit);
  const events = rows.readTexts(page, from + 1, "event");
  if (!events.ok) return events;
  const expected = Math.min(limit, Math.max(0, lastEventId - from));
  if (page.length !== expected) return rows.damaged("the end of its log");
  return ok({ events: events.value, epoch, earliestEventId, lastEventId });
}

export function readMessages(
  db: TenantDatabase,
  key: S.SessionKey,
  storeId: string,
  { after, limit }: S.Range,
): Result<readonly S.StoredText[]> {
  const found = session(db, key, storeId);
  if (!found.ok) return found;
  const { number, messageCount } = found.value;
  const page = db.all(PAGE_OF_MESSAGES, number, after, limit);
  const expected = Math.min(limit, Math.max(0, messageCount - after));
  if (page.length !== expected) return rows.damaged("the end of its conversation");
  return rows.readTexts(page, after + 1, "message");
}

export function readTurns(
  db: TenantDatabase,
  key: S.SessionKey,
  storeId: string,
  { before, limit }: S.BackwardRange,
): Result<readonly S.FoldedTurn[]> {
  const found = session(db, key, storeId);
  if (!found.ok) return found;
  const { number, turnCount } = found.value;
  const page = db.all(PAGE_OF_TURNS, number, before, limit);
  let expected = lastTurnBefore(db, number, before) ?? turnCount;
  const turns: S.FoldedTurn[] = [];
  for (const row of page) {
    const { id, first_id: firstId, last_id: lastId, text } = row;
    const whole = typeof text === "string" && id === expected;
    const sum = rows.rowChecksum(expected, Number(firstId), Number(lastId), String(text));
    if (!whole || sum !== row.checksum) return rows.damaged(`turn ${expected}`);
    turns.push({ firstId: Number(firstId), lastId: Number(lastId), text });
    expected -= 1;
  }
  return page.length < limit && expected > 0 ? rows.damaged(`turn ${expected}`) : ok(turns);
}

/** The turn just before the first one that is too late; null if none is. */
function lastTurnBefore(db: TenantDatabase, number: number, before: number): number | null {
  const later = db.get(FIRST_TURN_FROM, number, before)?.id;
  return typeof later === "number" ? later - 1 : null;
}

export function readSlotsOf(db: TenantDatabase, key: S.SessionKey, storeId: string) {
  const found = session(db, key, storeId);
  return found.ok ? readSlots(db, found.value) : found;
}

export function readSlots(
  db: TenantDatabase,
  { number, slotCount }: rows.SessionRow,
): Result<readonly S.Slot[]> {
  const slots: S.Slot[] = [];
  for (const row of db.all("SELECT * FROM slots WHERE number = ? ORDER BY owner", number)) {
    const { owner, version, payload, checksum } = row;
    const read = typeof owner === "string" && typeof version === "string";
    if (!read || !(payload instanceof Uint8Array)) return rows.damaged("a slot");
    const slot = { owner, version, payload: Uint8Array.from(payload) };
    if (rows.slotChecksum(slot) !== checksum) return rows.damaged("a slot");
    slots.push(slot);
  }
  return slots.length === slotCount ? ok(slots) : rows.damaged("a slot");
}

export function list(
  db: TenantDatabase,
  filter: S.ListFilter,
  { limit, after }: ListRange,
): Result<ListRows> {
  const where: string[] = [];
  const values: (string | number)[] = [];
  const add = (condition: string, ...given: readonly (string | number)[]) => {
    where.push(condition);
    values.push(...given);
  };
  const { workspaceCwd, statuses, parentSessionId, sourceType, sourceId, text } = filter;
  if (workspaceCwd !== undefined) add("workspace_cwd = ?", workspaceCwd);
  if (statuses !== undefined) add(`status IN (${statuses.map(() => "?").join(",")})`, ...statuses);
  if (parentSessionId !== undefined) add("parent_session_id = ?", parentSessionId);
  if (sourceType !== undefined) add("source_type = ?", sourceType);
  if (sourceId !== undefined) add("source_id = ?", sourceId);
  if (text !== undefined)
    add("display_name IS NOT NULL AND instr(fold(display_name), fold(?)) > 0", text);
  if (after !== null) {
    const { updatedAtMs, sessionId } = after;
    add(
      "(updated_at_ms < ? OR (updated_at_ms = ? AND session_id > ?))",
      updatedAtMs,
      updatedAtMs,
      sessionId,
    );
  }
  const condition = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const order = "ORDER BY updated_at_ms DESC, session_id LIMIT ?";
  return ok(
    listed(db.all(`SELECT * FROM sessions ${condition} ${order}`, ...values, limit + 1), limit),
  );
}

/** One damaged session is named and passed over; it does not hide the others. */
function listed(found: readonly Row[], limit: number): ListRows {
  const sessions: S.StoredRecord[] = [];
  const damaged: { sessionId: string; reason: string }[] = [];
  for (const row of found.slice(0, limit)) {
    const session = rows.readSession(row);
    const record = session.ok ? rows.recordOf(session.value) : session;
    if (record.ok) sessions.push(record.value);
    else damaged.push({ sessionId: String(row.session_id), reason: reasonOf(record) });
  }
  const last = found[limit - 1];
  const continuesAfter =
    found.length > limit && last !== undefined
      ? { updatedAtMs: Number(last.updated_at_ms), sessionId: String(last.session_id) }
      : null;
  return { sessions, damaged, continuesAfter };
}

function reasonOf(result: Result<never>): string {
  return result.ok ? "" : String(result.refusal.details.reason ?? result.refusal.code);
}

/**
 * A page of a journal. The whole journal is read in the order of its numbers, where a missing
 * entry leaves a gap; what is asked for by session or key is found through an index.
 */
export function readJournal(
  db: TenantDatabase,
  query: S.JournalQuery,
): Result<readonly S.JournalRow[]> {
  const { journal, sessionId, key, after, limit } = query;
  if (key !== undefined) {
    const named = db.all(ENTRY_BY_KEY, journal, key, after);
    const wanted = named.filter((row) => sessionId === undefined || row.session_id === sessionId);
    return journalRows(wanted);
  }
  if (sessionId !== undefined) {
    return journalRows(db.all(ENTRIES_OF_SESSION, journal, sessionId, after, limit));
  }
  return wholeJournal(db, journal, after, limit);
}

/**
 * Both journals share their numbers, so the other one's entries are passed over on the way. They
 * are checked all the same: one that is damaged may only look as if it were the other one's.
 */
function wholeJournal(
  db: TenantDatabase,
  journal: S.JournalName,
  after: number,
  limit: number,
): Result<readonly S.JournalRow[]> {
  const found: S.JournalRow[] = [];
  const counted = Number(db.get(COUNTED_ENTRIES)?.seq ?? 0);
  const last = Number(db.get(LAST_ENTRY)?.seq ?? 0);
  if (counted !== last) return rows.damaged("the end of the journal");
  let seq = after;
  while (seq < last && found.length < limit) {
    const page = journalRows(db.all(PAGE_OF_JOURNAL, seq, limit));
    if (!page.ok) return page;
    if (page.value.length === 0) return rows.damaged(`entry ${seq + 1} of the journal`);
    for (const entry of page.value) {
      seq += 1;
      if (entry.seq !== seq) return rows.damaged(`entry ${seq} of the journal`);
      if (entry.journal === journal && found.length < limit) found.push(entry);
    }
  }
  return ok(found);
}

function journalRows(found: readonly Row[]): Result<readonly S.JournalRow[]> {
  const entries: S.JournalRow[] = [];
  for (const row of found) {
    const { journal, text, checksum } = row;
    const seq = Number(row.seq);
    const key = String(row.key);
    const atMs = Number(row.at_ms);
    const sessionId = parseSessionId(String(row.session_id ?? ""));
    const sum = rows.rowChecksum(String(journal), key, sessionId, atMs, String(text));
    const named = journal === "audit" || journal === "ledger";
    if (!named || typeof text !== "string" || sum !== checksum) {
      return rows.damaged(`entry ${seq} of the journal`);
    }
    entries.push({ seq, journal, key, sessionId, atMs, text });
  }
  return ok(entries);
}

export function readDocuments(db: TenantDatabase, query: DocumentQuery): Result<DocumentRows> {
  const { kind } = query;
  const found =
    "key" in query
      ? db.all("SELECT * FROM documents WHERE kind = ? AND key = ?", kind, query.key)
      : db.all(PAGE_OF_DOCUMENTS, kind, query.after ?? "", query.limit);
  const documents: DocumentRows[number][] = [];
  for (const row of found) {
    const version = Number(row.version);
    const key = String(row.key);
    const text = typeof row.text === "string" ? row.text : null;
    if (rows.rowChecksum(kind, key, version, text) !== row.checksum) {
      return rows.damaged(`document ${kind}/${key}`);
    }
    if (text !== null) documents.push({ kind, key, version, text });
  }
  return ok(documents);
}

export function readBlob(db: TenantDatabase, hash: string): Result<Uint8Array | null> {
  const bytes = db.get("SELECT bytes FROM blobs WHERE hash = ?", hash)?.bytes;
  return ok(bytes instanceof Uint8Array ? Uint8Array.from(bytes) : null);
}

const PAGE_OF_EVENTS =
  "SELECT id, text, checksum FROM events WHERE number = ? AND id > ? ORDER BY id LIMIT ?";
const PAGE_OF_MESSAGES =
  "SELECT id, text, checksum FROM messages WHERE number = ? AND id > ? ORDER BY id LIMIT ?";
const PAGE_OF_TURNS = `
  SELECT id, first_id, last_id, text, checksum FROM turns
  WHERE number = ? AND last_id < ? ORDER BY last_id DESC LIMIT ?`;
const FIRST_TURN_FROM =
  "SELECT id FROM turns WHERE number = ? AND last_id >= ? ORDER BY last_id LIMIT 1";
const PAGE_OF_DOCUMENTS = `
  SELECT * FROM documents
  WHERE kind = ? AND key > ? AND text IS NOT NULL ORDER BY key LIMIT ?`;
const ENTRY_BY_KEY = "SELECT * FROM journal WHERE journal = ? AND key = ? AND seq > ?";
const ENTRIES_OF_SESSION = `
  SELECT * FROM journal WHERE journal = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?`;
const PAGE_OF_JOURNAL = "SELECT * FROM journal NOT INDEXED WHERE seq > ? ORDER BY seq LIMIT ?";
const COUNTED_ENTRIES = "SELECT seq FROM sqlite_sequence WHERE name = 'journal'";
const LAST_ENTRY = "SELECT max(seq) AS seq FROM journal";

import { parseSessionId, type TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { DocumentQuery, DocumentRow, DocumentText } from "../backend.ts";
import type * as S from "../store.ts";
import { documentsOf, lastEntryOf, readCounter, type WriteBatch } from "./batch.ts";
import { operation } from "./calls.ts";
import type { SqlRow, TenantDatabase } from "./database.ts";
import { step } from "./failpoint.ts";
import * as rows from "./row.ts";

/** What a tenant has beside its sessions: journals, documents and blobs. */

function appendJournal(
  batch: WriteBatch,
  _: TenantId,
  entries: readonly S.JournalEntry[],
): Result<void> {
  const fresh = freshEntries(batch.db, entries);
  if (!fresh.ok) return fresh;
  appendEntries(batch, fresh.value);
  return DONE;
}

/**
 * With the entries that tell of it: what refuses the one is asked before the other is written. A
 * deleted document leaves its version behind, so that it is not used again.
 */
function writeDocument(batch: WriteBatch, _: TenantId, document: DocumentText): Result<number> {
  const { kind, key, expectedVersion, text, entries } = document;
  const known = batch.db.get(FIND_DOCUMENT, kind, key);
  const last = Number(known?.version ?? 0);
  const wasThere = typeof known?.text === "string";
  const version = wasThere ? last : 0;
  if (version !== expectedVersion) {
    return fail("document_conflict", { version, expected: expectedVersion });
  }
  const fresh = freshEntries(batch.db, entries);
  if (!fresh.ok) return fresh;
  appendEntries(batch, fresh.value);
  if (fresh.value.length > 0) step("sqlite-amid-document");
  const sum = rows.rowChecksum(kind, key, last + 1, text);
  batch.db.run(WRITE_DOCUMENT, kind, key, last + 1, text, sum);
  batch.counters.add(documentsOf(kind), Number(text !== null) - Number(wasThere));
  return ok(last + 1);
}

/** A list is complete only if it has as many documents as were counted when they were written. */
function readDocuments(
  db: TenantDatabase,
  _: TenantId,
  query: DocumentQuery,
): Result<S.Page<DocumentRow>> {
  const { kind } = query;
  const { rows: found, more } =
    "key" in query
      ? db.page(1, ONE_DOCUMENT, kind, query.key)
      : db.page(query.limit, PAGE_OF_DOCUMENTS, kind, query.after ?? "");
  const documents: DocumentRow[] = [];
  for (const row of found) {
    const version = Number(row.version);
    const key = String(row.key);
    const text = typeof row.text === "string" ? row.text : null;
    if (rows.rowChecksum(kind, key, version, text) !== row.checksum) {
      return rows.damaged(`document ${kind}/${key}`);
    }
    if (text !== null) documents.push({ kind, key, version, text });
  }
  if (!("key" in query) && !more) {
    const there = Number(db.get(COUNT_DOCUMENTS, kind)?.count);
    if (there !== readCounter(db, documentsOf(kind))) return rows.damaged(`a document of ${kind}`);
  }
  return ok({ rows: documents, more });
}

function writeBlob(batch: WriteBatch, _: TenantId, hash: string, bytes: Uint8Array): Result<void> {
  batch.db.run(WRITE_BLOB, hash, bytes);
  return DONE;
}

function readBlob(db: TenantDatabase, _: TenantId, hash: string): Result<Uint8Array | null> {
  const bytes = db.get("SELECT bytes FROM blobs WHERE hash = ?", hash)?.bytes;
  return ok(bytes instanceof Uint8Array ? Uint8Array.from(bytes) : null);
}

const FIND_DOCUMENT = "SELECT version, text FROM documents WHERE kind = ? AND key = ?";
const ONE_DOCUMENT = "SELECT * FROM documents WHERE kind = ? AND key = ?";
const WRITE_DOCUMENT = `
  INSERT OR REPLACE INTO documents (kind, key, version, text, checksum)
  VALUES (?, ?, ?, ?, ?)`;
const PAGE_OF_DOCUMENTS = `
  SELECT * FROM documents WHERE kind = ? AND key > ? AND text IS NOT NULL ORDER BY key`;
// Bytes that are there under their name stay; those that have lost it are mended.
const WRITE_BLOB = `
  INSERT INTO blobs (hash, bytes) VALUES (?, ?)
  ON CONFLICT (hash) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes`;
const COUNT_DOCUMENTS =
  "SELECT count(*) AS count FROM documents WHERE kind = ? AND text IS NOT NULL";

/** A tenant's journals: numbered without gaps, each entry under a key of its own. */

/**
 * The entries that are not there yet. A key that is there must bring the same text. Nothing is
 * left to the database to ignore, because that would leave gaps in the numbers.
 */
export function freshEntries(
  db: TenantDatabase,
  entries: readonly S.JournalEntry[],
): Result<readonly S.JournalEntry[]> {
  if (entries.length === 0) return NONE;
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

const NONE: Result<readonly S.JournalEntry[]> = ok([]);

export function appendEntries(batch: WriteBatch, entries: readonly S.JournalEntry[]) {
  for (const { journal, key, sessionId, atMs, text } of entries) {
    const seq = batch.counters.add(lastEntryOf(journal));
    const sum = rows.rowChecksum(journal, seq, key, sessionId, atMs, text);
    batch.db.run(INSERT_ENTRY, journal, seq, key, sessionId, atMs, text, sum);
  }
}

/**
 * A page of a journal. The whole journal is read in the order of its numbers, where a missing
 * entry leaves a gap; what is asked for by session or key is found through an index.
 */
function readJournal(
  db: TenantDatabase,
  _: TenantId,
  query: S.JournalQuery,
): Result<S.Page<S.JournalRow>> {
  const { journal, sessionId, key, after, limit } = query;
  if (key !== undefined) {
    const { rows: named, more } = db.page(limit, ENTRY_BY_KEY, journal, key, after);
    const wanted = named.filter((row) => sessionId === undefined || row.session_id === sessionId);
    return journalPage({ rows: wanted, more });
  }
  if (sessionId !== undefined) {
    return journalPage(db.page(limit, ENTRIES_OF_SESSION, journal, sessionId, after));
  }
  const page = journalPage(db.page(limit, PAGE_OF_JOURNAL, journal, after));
  if (!page.ok) return page;
  const { rows: entries, more } = page.value;
  const gap = entries.findIndex(({ seq }, index) => seq !== after + 1 + index);
  if (gap >= 0) return rows.damaged(`entry ${after + 1 + gap} of the journal`);
  const last = readCounter(db, lastEntryOf(journal));
  const isWhole = more
    ? after + entries.length < last
    : Math.max(after, last) === after + entries.length;
  return isWhole ? page : rows.damaged("the end of the journal");
}

function journalPage({ rows: found, more }: S.Page<SqlRow>): Result<S.Page<S.JournalRow>> {
  const entries: S.JournalRow[] = [];
  for (const row of found) {
    const { journal, text, checksum } = row;
    const seq = Number(row.seq);
    const key = String(row.key);
    const atMs = Number(row.at_ms);
    const sessionId = parseSessionId(String(row.session_id ?? ""));
    const sum = rows.rowChecksum(String(journal), seq, key, sessionId, atMs, String(text));
    const named = journal === "audit" || journal === "ledger";
    if (!named || typeof text !== "string" || sum !== checksum) {
      return rows.damaged(`entry ${seq} of the journal`);
    }
    entries.push({ seq, journal, key, sessionId, atMs, text });
  }
  return ok({ rows: entries, more });
}

const FIND_ENTRY = "SELECT text FROM journal WHERE journal = ? AND key = ?";
const INSERT_ENTRY = `
  INSERT INTO journal (journal, seq, key, session_id, at_ms, text, checksum)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;
const ENTRY_BY_KEY = "SELECT * FROM journal WHERE journal = ? AND key = ? AND seq > ?";
const ENTRIES_OF_SESSION = `
  SELECT * FROM journal WHERE journal = ? AND session_id = ? AND seq > ? ORDER BY seq`;
const PAGE_OF_JOURNAL = "SELECT * FROM journal WHERE journal = ? AND seq > ? ORDER BY seq";

/** An answer to a write of which nothing is left to do, so that it makes no tenant. */
function withoutDocument({ expectedVersion, text, entries }: DocumentText): Result<number> | null {
  if (expectedVersion !== 0) {
    return fail("document_conflict", { version: 0, expected: expectedVersion });
  }
  return text === null && entries.length === 0 ? ok(0) : null;
}

export const TENANT_WRITES = {
  appendJournal: operation(appendJournal, (_, entries) => (entries.length === 0 ? DONE : null)),
  writeDocument: operation(writeDocument, (_, document) => withoutDocument(document)),
  writeBlob: operation(writeBlob, () => null),
};

export const TENANT_READS = {
  readJournal: operation(readJournal, () => ok({ rows: [], more: false })),
  readDocuments: operation(readDocuments, () => ok({ rows: [], more: false })),
  readBlob: operation(readBlob, () => ok(null)),
};

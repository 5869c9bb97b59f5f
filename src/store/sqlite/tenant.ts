import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { DocumentQuery, DocumentRow, DocumentText } from "../backend.ts";
import type * as S from "../store.ts";
import type { Batch } from "./batch.ts";
import { documentsOf, readCounter } from "./counter.ts";
import type { TenantDatabase } from "./database.ts";
import { appendEntries, freshEntries } from "./journal.ts";
import * as rows from "./row.ts";
import { step } from "./step.ts";

/** What a tenant has beside its sessions: journals, documents and blobs. */

export function appendJournal(batch: Batch, entries: readonly S.JournalEntry[]): Result<void> {
  const fresh = freshEntries(batch.db, entries);
  if (!fresh.ok) return fresh;
  appendEntries(batch, fresh.value);
  return DONE;
}

/**
 * With the entries that tell of it: what refuses the one is asked before the other is written. A
 * deleted document leaves its version behind, so that it is not used again.
 */
export function writeDocument(batch: Batch, document: DocumentText): Result<number> {
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
export function readDocuments(
  db: TenantDatabase,
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

export function writeBlob(batch: Batch, hash: string, bytes: Uint8Array): Result<void> {
  batch.db.run(WRITE_BLOB, hash, bytes);
  return DONE;
}

export function readBlob(db: TenantDatabase, hash: string): Result<Uint8Array | null> {
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

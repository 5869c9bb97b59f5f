import { parseSessionId } from "../../core/id.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type * as S from "../store.ts";
import type { Batch } from "./batch.ts";
import { lastEntryOf, readCounter } from "./counter.ts";
import type { Row, TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

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

export function appendEntries(batch: Batch, entries: readonly S.JournalEntry[]) {
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
export function readJournal(
  db: TenantDatabase,
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

function journalPage({ rows: found, more }: S.Page<Row>): Result<S.Page<S.JournalRow>> {
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

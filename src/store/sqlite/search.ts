import type { TenantId } from "../../core/id.ts";
import {
  SEARCH_ENTRIES_READ_MAX,
  SEARCH_QUERY_PAIRS_MAX,
  SEARCH_READ_BYTES_MAX,
} from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { excerptOf } from "../../core/search/excerpt.ts";
import { isBeginningOf, type SearchedMessage, searchedMessage } from "../../core/search/message.ts";
import type { Sought, Term } from "../../core/search/query.ts";
import { pairsOf } from "../../core/search/words.ts";
import type { FoundRows, SearchPosition, SearchRange, SearchTerms } from "../search.ts";
import type * as S from "../store.ts";
import { operation } from "./calls.ts";
import type { SqlRow, TenantDatabase } from "./database.ts";
import { conditions } from "./list.ts";
import * as rows from "./row.ts";
import { timeOfText } from "./search-index.ts";

/**
 * One step of a search. The index tells which texts may be meant, the newest first; each of them is
 * then read, and believed only if it has what is sought. The row of its session says who sees it.
 */
function search(
  db: TenantDatabase,
  _: TenantId,
  { sought, filter }: SearchTerms,
  { limit, after }: SearchRange,
): Result<FoundRows> {
  const { where, values } = conditions(filter);
  const fits = where.length === 0 ? "1" : where.join(" AND ");
  const from = after?.[0] ?? Number.MAX_SAFE_INTEGER;
  const entries = db.rows(candidatesQuery(fits), ...values, matching(sought), from);
  const hits: FoundRows["hits"][number][] = [];
  let reached: SearchPosition | null = null;
  let bytesLeft = SEARCH_READ_BYTES_MAX;
  let looked = 0;
  let isWhole = true;
  for (const entry of entries) {
    const position: SearchPosition = [Number(entry.text_id), Number(entry.number)];
    if (after !== null && position[0] === after[0] && position[1] <= after[1]) continue;
    if (looked === SEARCH_ENTRIES_READ_MAX || bytesLeft <= 0 || hits.length === limit) {
      isWhole = false;
      break;
    }
    looked += 1;
    reached = position;
    if (entry.fits !== 1) continue;
    const found = readCandidate(db, entry, sought);
    bytesLeft -= found.bytes;
    if (found.hit !== null) hits.push({ ...found.hit, position });
  }
  const isIndexing = db.get(IS_DUE) !== undefined;
  return ok({ hits, continuesAfter: isWhole ? null : reached, isIndexing });
}

interface ReadEntry {
  readonly hit: S.Hit | null;
  readonly bytes: number;
}

const NOTHING: ReadEntry = { hit: null, bytes: 0 };

/** What is damaged is not found; it hides nothing else. */
function readCandidate(db: TenantDatabase, entry: SqlRow, sought: Sought): ReadEntry {
  const row = db.get("SELECT * FROM sessions WHERE number = ?", entry.number);
  const session = row === undefined ? null : rows.believed(row);
  const record = session?.ok ? rows.recordOf(session.value) : null;
  if (!record?.ok) return NOTHING;
  const messageId = Number(entry.message_id);
  if (messageId === 0) return { hit: titleHit(db, entry, record.value, sought), bytes: 0 };
  const read = readMessage(db, Number(entry.number), messageId);
  const excerpt = read.message === null ? null : excerptOf(read.message.text, sought);
  if (read.message === null || excerpt === null) return { hit: null, bytes: read.bytes };
  const { text: _, ...said } = read.message;
  return { hit: { session: record.value, messageId, ...said, excerpt }, bytes: read.bytes };
}

function titleHit(
  db: TenantDatabase,
  { number, text_id: textId }: SqlRow,
  session: S.StoredRecord,
  sought: Sought,
): S.Hit | null {
  const title = session.displayName;
  const excerpt = title === null ? null : excerptOf(title, sought);
  if (title === null || excerpt === null) return null;
  const first = readMessage(db, Number(number), 1).message;
  if (first !== null && isBeginningOf(title, first.text)) return null;
  const atMs = timeOfText(Number(textId));
  return { session, messageId: 0, role: "title", turnId: null, atMs, excerpt };
}

function readMessage(
  db: TenantDatabase,
  number: number,
  id: number,
): { readonly message: SearchedMessage | null; readonly bytes: number } {
  const row = db.get(ONE_MESSAGE, number, id);
  const read = row === undefined ? null : rows.readTexts([row], id, "message");
  const [stored] = read?.ok ? read.value : [];
  if (stored === undefined) return { message: null, bytes: 0 };
  return { message: searchedMessage(stored.text), bytes: stored.text.length };
}

/** Words have no quotes, so in quotes they are nothing but words to the index. */
function matching(sought: Sought): string {
  return sought.flatMap(entriesFor).join(" ");
}

function entriesFor({ kind, text }: Term): readonly string[] {
  if (kind === "beginning") return [`"${text}"*`];
  if (kind === "whole") return [`"${text}"`];
  const pairs = pairsOf(text);
  // The last character is only the second of a pair, unless it is the only one.
  if (pairs.length === 1) return [`"${text}"*`];
  return pairs
    .slice(0, Math.min(pairs.length - 1, SEARCH_QUERY_PAIRS_MAX))
    .map((one) => `"${one}"`);
}

/** Whom a session does not fit is passed over, not left out, so that a step has an end. */
function candidatesQuery(fits: string): string {
  return `
    SELECT search_words.rowid AS text_id, place.number AS number,
      place.message_id AS message_id, (${fits}) AS fits
    FROM search_words
    CROSS JOIN search_places AS place ON place.text_id = search_words.rowid
    CROSS JOIN sessions ON sessions.number = place.number
    WHERE search_words MATCH ? AND search_words.rowid <= CAST(? AS INTEGER)
    ORDER BY search_words.rowid DESC`;
}

const ONE_MESSAGE = "SELECT id, text, checksum FROM messages WHERE number = ? AND id = ?";
const IS_DUE = "SELECT 1 AS due FROM search_due LIMIT 1";

const NONE: FoundRows = { hits: [], continuesAfter: null, isIndexing: false };

export const SEARCH_READS = { search: operation(search, () => ok(NONE)) };

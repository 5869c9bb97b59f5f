import type { ClientId, SessionId, TenantId, UserId } from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import {
  AUDIT_ROWS_SEARCHED_MAX,
  AUDIT_STRETCH_ROWS_MAX,
  PAGE_ROWS_MAX,
} from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { JournalRow, Page, SessionStore } from "../../store/store.ts";
import { csvLine } from "../csv.ts";

export type JournalStore = Pick<SessionStore, "readJournal">;

/** Some of a tenant's audit, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where to go on: with what is before this place. Null where nothing is. */
  readonly nextBefore: number | null;
}

/**
 * The newest entries that are meant, of those before a place in the journal; null is its end. They
 * are there also when their session is not any more. Only so many rows are looked at: a page that
 * ends for that may have few entries or none, and says where to go on (P10).
 */
export async function auditPage(
  store: JournalStore,
  tenantId: TenantId,
  filter: AuditFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Result<AuditPage>> {
  const end = before === null ? await auditEnd(store, tenantId) : ok(before);
  if (!end.ok) return end;
  const entries: AuditEntry[] = [];
  let at = end.value;
  // One more than a page tells whether there is another.
  let span = Math.min(limit + 1, AUDIT_STRETCH_ROWS_MAX);
  for (let looked = 0; at > 1 && looked < AUDIT_ROWS_SEARCHED_MAX; ) {
    const after = Math.max(0, at - 1 - span);
    const stretch = await readStretch(store, tenantId, filter, { after, before: at });
    if (!stretch.ok) return stretch;
    const { rows, isWhole } = stretch.value;
    looked += 1 + stretch.value.rowsRead;
    span = nextSpan(span, stretch.value);
    if (!isWhole) continue;
    for (const row of rows.toReversed()) {
      const entry = meantEntry(row, filter);
      if (entry === null) continue;
      const last = entries.at(-1);
      if (last && entries.length === limit) return ok({ entries, nextBefore: last.seq });
      entries.push(entry);
    }
    at = after + 1;
  }
  return ok({ entries, nextBefore: at > 1 ? at : null });
}

interface Stretch {
  readonly rows: readonly JournalRow[];
  /** Whether these are all of them. */
  readonly isWhole: boolean;
  readonly rowsRead: number;
}

/** What is between two places: numbers have no gaps, so it is never more than these tell. */
async function readStretch(
  store: JournalStore,
  tenantId: TenantId,
  { sessionId }: AuditFilter,
  { after, before }: { readonly after: number; readonly before: number },
): Promise<Result<Stretch>> {
  const limit = Math.min(before - 1 - after, AUDIT_STRETCH_ROWS_MAX);
  const of = sessionId === null ? {} : { sessionId };
  const page = await store.readJournal(tenantId, { journal: "audit", ...of, after, limit });
  if (!page.ok) return page;
  const { rows, more } = page.value;
  const isWhole = !more || (rows.at(-1)?.seq ?? 0) >= before - 1;
  return ok({ rows: rows.filter(({ seq }) => seq < before), isWhole, rowsRead: rows.length });
}

/**
 * A session's rows are anywhere among the others: where they are few the next stretch is longer,
 * and one that has too many of them is tried again with less.
 */
function nextSpan(span: number, { rows, isWhole }: Stretch): number {
  if (!isWhole) return Math.max(1, Math.floor(span / 4));
  return rows.length <= AUDIT_STRETCH_ROWS_MAX / 2 ? span * 2 : span;
}

/** The place after the last entry. Journals are read forwards, so it is found by halves. */
async function auditEnd(store: JournalStore, tenantId: TenantId): Promise<Result<number>> {
  let last = 0;
  let none = Number.POSITIVE_INFINITY;
  while (last < none) {
    const after = none === Number.POSITIVE_INFINITY ? 2 * last : Math.floor((last + none) / 2);
    const page = await store.readJournal(tenantId, { journal: "audit", after, limit: 1 });
    if (!page.ok) return page;
    const [next] = page.value.rows;
    if (next === undefined) none = after;
    else last = next.seq;
  }
  return ok(last + 1);
}

/** An entry of the audit as it is shown, with the same fields whoever wrote it. */
interface AuditEntry {
  readonly v: 1;
  /** Its place in the journal of its tenant. */
  readonly seq: number;
  readonly at: string;
  readonly act: string;
  readonly actor: JsonObject;
  readonly accepted: boolean;
  readonly sessionId?: SessionId;
  readonly [name: string]: unknown;
}

/** Which entries somebody wants to see; null is any. All of it has to hold. */
export interface AuditFilter {
  readonly sessionId: SessionId | null;
  /** Who did it, or wanted to. */
  readonly userId: UserId | null;
  readonly clientId: ClientId | null;
  /** One of these. */
  readonly acts: readonly string[] | null;
  readonly isAccepted: boolean | null;
  readonly fromMs: number;
  /** The first moment that is not meant any more. */
  readonly toMs: number;
}

/** Every entry there is. */
export const WHOLE_AUDIT: AuditFilter = {
  sessionId: null,
  userId: null,
  clientId: null,
  acts: null,
  isAccepted: null,
  fromMs: 0,
  toMs: Number.MAX_SAFE_INTEGER,
};

/** The entry in a row, if it is meant. Rows are of the right session: the store sees to that. */
function meantEntry(row: JournalRow, filter: AuditFilter): AuditEntry | null {
  if (row.atMs < filter.fromMs || row.atMs >= filter.toMs) return null;
  const { acts, isAccepted, userId, clientId } = filter;
  const entry = entryOf(row);
  const { act, accepted, actor } = entry;
  const isMeant =
    (acts === null || acts.includes(act)) &&
    (isAccepted === null || accepted === isAccepted) &&
    (userId === null || actor.userId === userId) &&
    (clientId === null || actor.clientId === clientId);
  return isMeant ? entry : null;
}

function entryOf({ seq, atMs, sessionId, text }: JournalRow): AuditEntry {
  const parsed: unknown = JSON.parse(text);
  const told = isObject(parsed) ? parsed : {};
  const { v: _, act: __, actor: ___, accepted, ...more } = told;
  return {
    v: 1,
    seq,
    at: new Date(atMs).toISOString(),
    act: stringAt(told, "act") ?? "unknown",
    actor: withoutNulls(objectAt(told, "actor") ?? {}),
    // What an agent does is told before it is done; of what it did once, only that.
    accepted: accepted !== false,
    ...(sessionId !== null && { sessionId }),
    ...more,
  };
}

interface FileFormat {
  readonly mediaType: string;
  readonly head: string;
  lineOf(entry: AuditEntry): string;
}

const COLUMNS = [
  ...["seq", "at", "act", "accepted", "code", "actor", "userId", "clientId", "sessionId"],
  ...["eventId", "promptId", "turnId", "cause", "agentStatus", "details"],
];

/** As what a tenant's audit can be taken away. */
export const AUDIT_FILES = {
  ndjson: {
    mediaType: "application/x-ndjson; charset=utf-8",
    head: "",
    lineOf: (entry) => `${JSON.stringify(entry)}\n`,
  },
  csv: { mediaType: "text/csv; charset=utf-8", head: csvLine(COLUMNS), lineOf: csvOf },
} as const satisfies Readonly<Record<string, FileFormat>>;

export type AuditFileFormat = keyof typeof AUDIT_FILES;

export function isAuditFileFormat(name: string): name is AuditFileFormat {
  return Object.hasOwn(AUDIT_FILES, name);
}

type ReadPage = (after: number) => Promise<Result<Page<JournalRow>>>;

/**
 * All entries that are meant and are there now, oldest first, a page at a time, so that their
 * number costs no memory.
 */
export async function auditFile(
  store: JournalStore,
  tenantId: TenantId,
  filter: AuditFilter,
  format: AuditFileFormat,
): Promise<Result<AsyncIterable<string>>> {
  const end = await auditEnd(store, tenantId);
  if (!end.ok) return end;
  const of = filter.sessionId === null ? {} : { sessionId: filter.sessionId };
  const read: ReadPage = (after) =>
    store.readJournal(tenantId, { journal: "audit", ...of, after, limit: PAGE_ROWS_MAX });
  const first = await read(0);
  if (!first.ok) return first;
  return ok(piecesOf(AUDIT_FILES[format], pagesOf(read, first.value, end.value), filter));
}

/** A piece for each page, also an empty one: whoever takes them can leave after each. */
async function* piecesOf(
  { head, lineOf }: FileFormat,
  pages: AsyncIterable<readonly JournalRow[]>,
  filter: AuditFilter,
): AsyncGenerator<string> {
  yield head;
  for await (const rows of pages) {
    const entries = rows.map((row) => meantEntry(row, filter)).filter((entry) => entry !== null);
    yield entries.map(lineOf).join("");
  }
}

/** What is written meanwhile is left out: else one who reads slowly would never be done. */
async function* pagesOf(
  read: ReadPage,
  first: Page<JournalRow>,
  end: number,
): AsyncGenerator<readonly JournalRow[]> {
  for (let page = first; ; ) {
    yield page.rows.filter(({ seq }) => seq < end);
    const last = page.rows.at(-1)?.seq ?? end;
    if (!page.more || last + 1 >= end) return;
    const next = await read(last);
    // What is cut off is seen to be: whoever writes the file is told by this.
    if (!next.ok) throw new Error(next.refusal.code);
    page = next.value;
  }
}

function csvOf(entry: AuditEntry): string {
  const { seq, at, act, accepted, actor, sessionId = null, eventId } = entry;
  const text = (name: string) => stringAt(entry, name);
  return csvLine([
    ...[seq, at, act, accepted, text("code")],
    ...[stringAt(actor, "kind"), stringAt(actor, "userId"), stringAt(actor, "clientId"), sessionId],
    typeof eventId === "number" ? eventId : null,
    ...[text("promptId"), text("turnId"), text("cause"), text("agentStatus")],
    JSON.stringify(objectAt(entry, "details") ?? {}),
  ]);
}

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

/** Which entries a reader wants; null is any. An entry must meet all conditions. */
export interface AuditFilter {
  readonly sessionId: SessionId | null;
  /** Who acted, or tried to. */
  readonly userId: UserId | null;
  readonly clientId: ClientId | null;
  /** One of these. */
  readonly acts: readonly string[] | null;
  readonly isAccepted: boolean | null;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
}

/** Lets every entry pass. */
export const WHOLE_AUDIT: AuditFilter = {
  sessionId: null,
  userId: null,
  clientId: null,
  acts: null,
  isAccepted: null,
  fromMs: 0,
  toMs: Number.MAX_SAFE_INTEGER,
};

/** An entry of the audit as it is shown; all entries have these fields. */
interface AuditEntry {
  readonly v: 1;
  /** Its position in the journal of its tenant. */
  readonly seq: number;
  readonly at: string;
  readonly act: string;
  readonly actor: JsonObject;
  readonly accepted: boolean;
  readonly sessionId?: SessionId;
  readonly [name: string]: unknown;
}

export interface AuditRange {
  /** A position in the journal; null is its end. */
  readonly before: number | null;
  readonly limit: number;
}

/** Whether the reader sees the session of an entry; others are left out (P8). */
type SeesEntry = (row: JournalRow) => Promise<boolean>;

const SEES_ALL: SeesEntry = async () => true;

/** Some of a tenant's audit, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The `before` of the next page; null where there is none. */
  readonly nextBefore: number | null;
}

/**
 * Reads the newest matching entries before a position in the journal; null is its end. Entries
 * stay when their session is deleted. The server looks at a bounded number of rows: a page that
 * ends for that may have few entries or none, and says where to go on (P10).
 */
export async function auditPage(
  store: JournalStore,
  tenantId: TenantId,
  filter: AuditFilter,
  { before, limit }: AuditRange,
  isSeen: SeesEntry = SEES_ALL,
): Promise<Result<AuditPage>> {
  const end = before === null ? await auditEnd(store, tenantId) : ok(before);
  if (!end.ok) return end;
  const entries: AuditEntry[] = [];
  let at = end.value;
  // One more than a page says whether there is another.
  let span = Math.min(limit + 1, AUDIT_STRETCH_ROWS_MAX);
  for (let looked = 0; at > 1 && looked < AUDIT_ROWS_SEARCHED_MAX; ) {
    const after = Math.max(0, at - 1 - span);
    // Numbers have no gaps, so there are never more rows than this between two positions.
    const rowsMax = Math.min(at - 1 - after, AUDIT_STRETCH_ROWS_MAX);
    const page = await readRows(store, tenantId, filter, after, rowsMax);
    if (!page.ok) return page;
    const { rows, more } = page.value;
    looked += 1 + rows.length;
    // The rows of a session are anywhere among the others: many of them need a shorter span.
    const isWhole = !more || (rows.at(-1)?.seq ?? 0) >= at - 1;
    if (!isWhole) {
      span = Math.max(1, Math.floor(span / 4));
      continue;
    }
    const inSpan = rows.filter(({ seq }) => seq < at);
    if (inSpan.length <= AUDIT_STRETCH_ROWS_MAX / 2) span *= 2;
    for (const row of inSpan.toReversed()) {
      const entry = matchingEntry(row, filter);
      if (entry === null || !(await isSeen(row))) continue;
      const last = entries.at(-1);
      if (last && entries.length === limit) return ok({ entries, nextBefore: last.seq });
      entries.push(entry);
    }
    at = after + 1;
  }
  return ok({ entries, nextBefore: at > 1 ? at : null });
}

interface AuditFileWriter {
  readonly mediaType: string;
  readonly head: string;
  lineOf(entry: AuditEntry): string;
}

const COLUMNS = [
  ...["seq", "at", "act", "accepted", "code", "actor", "userId", "clientId", "sessionId"],
  ...["eventId", "promptId", "turnId", "cause", "agentStatus", "details"],
];

/** The formats in which a tenant's audit can be downloaded. */
export const AUDIT_FILES = {
  ndjson: {
    mediaType: "application/x-ndjson; charset=utf-8",
    head: "",
    lineOf: (entry) => `${JSON.stringify(entry)}\n`,
  },
  csv: { mediaType: "text/csv; charset=utf-8", head: csvLine(COLUMNS), lineOf: csvOf },
} as const satisfies Readonly<Record<string, AuditFileWriter>>;

export type AuditFileFormat = keyof typeof AUDIT_FILES;

export function isAuditFileFormat(name: string): name is AuditFileFormat {
  return Object.hasOwn(AUDIT_FILES, name);
}

/**
 * Writes all matching entries that are there now, oldest first. It holds one page at a time, so
 * that their number costs no memory. A page is one piece, also an empty one, so that the caller
 * can stop after each.
 */
export async function auditFile(
  store: JournalStore,
  tenantId: TenantId,
  filter: AuditFilter,
  format: AuditFileFormat,
  isSeen: SeesEntry = SEES_ALL,
): Promise<Result<AsyncIterable<string>>> {
  const end = await auditEnd(store, tenantId);
  if (!end.ok) return end;
  const first = await readRows(store, tenantId, filter, 0, PAGE_ROWS_MAX);
  if (!first.ok) return first;
  const { head, lineOf } = AUDIT_FILES[format];
  return ok(pieces(first.value, end.value));

  /** Leaves out what is written meanwhile: else a slow reader would never come to the end. */
  async function* pieces(firstPage: Page<JournalRow>, before: number): AsyncGenerator<string> {
    yield head;
    for (let page = firstPage; ; ) {
      let lines = "";
      for (const row of page.rows.filter(({ seq }) => seq < before)) {
        const entry = matchingEntry(row, filter);
        if (entry !== null && (await isSeen(row))) lines += lineOf(entry);
      }
      yield lines;
      const last = page.rows.at(-1)?.seq ?? before;
      if (!page.more || last + 1 >= before) return;
      const next = await readRows(store, tenantId, filter, last, PAGE_ROWS_MAX);
      // The throw breaks the download off, so that its reader does not take it for the whole.
      if (!next.ok) throw new Error(next.refusal.code);
      page = next.value;
    }
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

/** Reads rows of the filter's session, or of all sessions; the other conditions are ours. */
function readRows(
  store: JournalStore,
  tenantId: TenantId,
  { sessionId }: AuditFilter,
  after: number,
  limit: number,
): Promise<Result<Page<JournalRow>>> {
  const ofSession = sessionId === null ? {} : { sessionId };
  return store.readJournal(tenantId, { journal: "audit", ...ofSession, after, limit });
}

/** Finds the position after the last entry by halves, since journals are read forwards. */
async function auditEnd(store: JournalStore, tenantId: TenantId): Promise<Result<number>> {
  let last = 0;
  let none = Number.POSITIVE_INFINITY;
  while (last < none) {
    const after = none === Number.POSITIVE_INFINITY ? 2 * last : Math.floor((last + none) / 2);
    const page = await readRows(store, tenantId, WHOLE_AUDIT, after, 1);
    if (!page.ok) return page;
    const [next] = page.value.rows;
    if (next === undefined) none = after;
    else last = next.seq;
  }
  return ok(last + 1);
}

function matchingEntry(row: JournalRow, filter: AuditFilter): AuditEntry | null {
  if (row.atMs < filter.fromMs || row.atMs >= filter.toMs) return null;
  const { acts, isAccepted, userId, clientId } = filter;
  const entry = entryOf(row);
  const { act, accepted, actor } = entry;
  const isMatch =
    (acts === null || acts.includes(act)) &&
    (isAccepted === null || accepted === isAccepted) &&
    (userId === null || actor.userId === userId) &&
    (clientId === null || actor.clientId === clientId);
  return isMatch ? entry : null;
}

function entryOf({ seq, atMs, sessionId, text }: JournalRow): AuditEntry {
  const parsed: unknown = JSON.parse(text);
  const stored = isObject(parsed) ? parsed : {};
  const { v: _, act: __, actor: ___, accepted, ...more } = stored;
  return {
    v: 1,
    seq,
    at: new Date(atMs).toISOString(),
    act: stringAt(stored, "act") ?? "unknown",
    actor: withoutNulls(objectAt(stored, "actor") ?? {}),
    // The first entries of agents' acts did not say it; such an act was always accepted.
    accepted: accepted !== false,
    ...(sessionId !== null && { sessionId }),
    ...more,
  };
}

import type { TenantId } from "../../core/id.ts";
import { AUDIT_ROWS_SEARCHED_MAX, AUDIT_STRETCH_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { JournalRow, SessionStore } from "../../store/store.ts";
import { type AuditEntry, type AuditFilter, meantEntry } from "./audit-entry.ts";

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
export async function auditEnd(store: JournalStore, tenantId: TenantId): Promise<Result<number>> {
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

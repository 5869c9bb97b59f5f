import { ok, type Result } from "../../core/result.ts";
import type { JournalRow, SessionKey, SessionStore } from "../../store/store.ts";

type JournalStore = Pick<SessionStore, "readJournal">;

/** Some of a session's audit, newest first. */
export interface AuditPage {
  readonly rows: readonly JournalRow[];
  readonly more: boolean;
}

/**
 * The newest entries about a session of those before a place in its tenant's journal; null is the
 * end. They are there also when the session is not any more. Journals are read forwards, so both
 * ends of the page are found by halves, and never more than a page is read at a time.
 */
export async function auditPage(
  store: JournalStore,
  key: SessionKey,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Result<AuditPage>> {
  const audit = new SessionAudit(store, key);
  const end = before === null ? await audit.end() : ok(before);
  if (!end.ok) return end;
  const rows = await audit.lastBefore(end.value, limit + 1);
  if (!rows.ok) return rows;
  return ok({ rows: rows.value.slice(-limit).toReversed(), more: rows.value.length > limit });
}

class SessionAudit {
  readonly #store: JournalStore;
  readonly #key: SessionKey;

  constructor(store: JournalStore, key: SessionKey) {
    this.#store = store;
    this.#key = key;
  }

  /** The place after its last entry. */
  async end(): Promise<Result<number>> {
    let last = 0;
    let none = Number.POSITIVE_INFINITY;
    while (last < none) {
      const look = none === Number.POSITIVE_INFINITY ? 2 * last : Math.floor((last + none) / 2);
      const page = await this.#from(look, Number.MAX_SAFE_INTEGER, 1);
      if (!page.ok) return page;
      const [next] = page.value;
      if (next === undefined) none = look;
      else last = next.seq;
    }
    return ok(last + 1);
  }

  /** So many entries, or all that there are, in order. */
  async lastBefore(before: number, count: number): Promise<Result<readonly JournalRow[]>> {
    let few = before;
    for (let span = 2 * count; ; span *= 2) {
      const after = Math.max(0, before - span);
      const rows = await this.#from(after, before, count);
      if (!rows.ok || (rows.value.length < count && after === 0)) return rows;
      if (rows.value.length === count) {
        const start = await this.#latestStart({ enough: after, few, before, count });
        return start.ok ? this.#from(start.value, before, count) : start;
      }
      few = after;
    }
  }

  /** The last place from which there are still so many. */
  async #latestStart(search: {
    readonly enough: number;
    readonly few: number;
    readonly before: number;
    readonly count: number;
  }): Promise<Result<number>> {
    let { enough, few } = search;
    while (enough + 1 < few) {
      const middle = Math.floor((enough + few) / 2);
      const rows = await this.#from(middle, search.before, search.count);
      if (!rows.ok) return rows;
      if (rows.value.length === search.count) enough = middle;
      else few = middle;
    }
    return ok(enough);
  }

  /** The first entries after one place and before another. */
  async #from(
    after: number,
    before: number,
    limit: number,
  ): Promise<Result<readonly JournalRow[]>> {
    const { tenantId, sessionId } = this.#key;
    const rows: JournalRow[] = [];
    for (let place = after; ; ) {
      const range = { after: place, limit: limit - rows.length };
      const query = { journal: "audit", sessionId, ...range } as const;
      const page = await this.#store.readJournal(tenantId, query);
      if (!page.ok) return page;
      rows.push(...page.value.rows.filter(({ seq }) => seq < before));
      place = page.value.rows.at(-1)?.seq ?? before;
      if (!page.value.more || rows.length === limit || place >= before) return ok(rows);
    }
  }
}

import type { TenantId } from "../../core/id.ts";
import { STATEMENT_ROWS_MAX, STATEMENT_ROWS_SEARCHED_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine, type StatementLine } from "./entry.ts";
import { isWithin, type Period } from "./period.ts";

export interface StatementWish extends Period {
  /** The place in the journal behind which it begins. */
  readonly after: number;
  readonly limit: number;
}

/** Some of a tenant's ledger, oldest first. */
export interface StatementPage {
  readonly lines: readonly StatementLine[];
  /** Where to go on: behind this place. Null where the journal ends. */
  readonly nextAfter: number | null;
}

/**
 * The entries of a period. Clocks are set, so they may be anywhere in the journal; and only so
 * many are looked at: a page that ends for that may have few or none, and says where to go on
 * (P10).
 */
export async function statementPage(
  store: Pick<SessionStore, "readJournal">,
  tenantId: TenantId,
  { after, limit, ...period }: StatementWish,
): Promise<Result<StatementPage>> {
  const lines: StatementLine[] = [];
  let at = after;
  for (let looked = 0; looked < STATEMENT_ROWS_SEARCHED_MAX; ) {
    const most = looked === 0 ? limit : STATEMENT_ROWS_MAX;
    const query = { journal: "ledger", after: at, limit: most } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return page;
    for (const row of page.value.rows) {
      if (lines.length === limit) return ok({ lines, nextAfter: at });
      const line = isWithin(period, row.atMs) ? readLine(row) : null;
      if (line !== null) lines.push(line);
      at = row.seq;
    }
    if (!page.value.more) return ok({ lines, nextAfter: null });
    if (lines.length === limit) break;
    looked += 1 + page.value.rows.length;
  }
  return ok({ lines, nextAfter: at });
}

import type { TenantId } from "../../core/id.ts";
import { STATEMENT_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { csvLine } from "../csv.ts";
import type { StatementLine } from "./entry.ts";
import type { Meter } from "./meter.ts";
import type { StatementPage, StatementWish } from "./statement.ts";

const COLUMNS = [
  ...["seq", "at", "kind", "id", "n", "amountMicro", "sessionId", "userId", "agent", "model"],
  ...["input", "output", "cachedRead", "cachedWrite", "thought", "priced", "note", "aside"],
];

/** What is stated of a period, a page at a time, so that its length costs no memory. */
export async function statementCsv(
  meter: Meter,
  tenantId: TenantId,
  from: Omit<StatementWish, "limit">,
): Promise<Result<AsyncIterable<string>>> {
  const wish = { ...from, limit: STATEMENT_ROWS_MAX };
  const first = await meter.statement(tenantId, wish);
  return first.ok ? ok(pagesOf(meter, tenantId, wish, first.value)) : first;
}

async function* pagesOf(
  meter: Meter,
  tenantId: TenantId,
  wish: StatementWish,
  first: StatementPage,
) {
  yield csvLine(COLUMNS);
  for (let page = first; ; ) {
    yield page.lines.map(rowOf).join("");
    if (page.nextAfter === null) return;
    const next = await meter.statement(tenantId, { ...wish, after: page.nextAfter });
    // What is cut off is seen to be: whoever writes the file is told by this.
    if (!next.ok) throw new Error(next.refusal.code);
    page = next.value;
  }
}

function rowOf({ atMs, turnId, isPriced, isAside, tokens, ...line }: StatementLine): string {
  const { seq, kind, n, amountMicro, sessionId, userId, agent, model, note } = line;
  const { input, output, cachedRead, cachedWrite, thought } = tokens;
  const cells = [
    ...[seq, new Date(atMs).toISOString(), kind, turnId, n, amountMicro, sessionId, userId],
    ...[agent, model, input, output, cachedRead, cachedWrite, thought, isPriced, note, isAside],
  ];
  return csvLine(cells);
}

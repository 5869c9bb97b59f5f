import type { TenantId } from "../../core/id.ts";
import { STATEMENT_ROWS_MAX } from "../../core/limits.ts";
import { ok, type Result } from "../../core/result.ts";
import { csvLine } from "../csv.ts";
import type { StatementLine } from "./entry.ts";
import type { Meter, StatementPage } from "./meter.ts";

const COLUMNS = [
  ...["seq", "at", "kind", "id", "n", "amountMicro", "sessionId", "userId", "agent", "model"],
  ...["input", "output", "cachedRead", "cachedWrite", "thought", "priced", "note", "aside"],
];

/** All of a statement from there on, a page at a time, so that its length costs no memory. */
export async function statementCsv(
  meter: Meter,
  tenantId: TenantId,
  after: number,
): Promise<Result<AsyncIterable<string>>> {
  const first = await meter.statement(tenantId, after, STATEMENT_ROWS_MAX);
  return first.ok ? ok(pagesOf(meter, tenantId, first.value)) : first;
}

async function* pagesOf(meter: Meter, tenantId: TenantId, first: StatementPage) {
  yield csvLine(COLUMNS);
  for (let page = first; ; ) {
    yield page.lines.map(rowOf).join("");
    const last = page.lines.at(-1)?.seq;
    if (!page.more || last === undefined) return;
    const next = await meter.statement(tenantId, last, STATEMENT_ROWS_MAX);
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

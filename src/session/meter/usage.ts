import type { TenantId } from "../../core/id.ts";
import {
  PAGE_ROWS_MAX,
  STATEMENT_ROWS_MAX,
  STATEMENT_ROWS_SEARCHED_MAX,
  USAGE_GROUPS_MAX,
} from "../../core/limits.ts";
import { monthName, monthOf } from "../../core/month.ts";
import { addCounts, addTokens, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { csvLine } from "../csv.ts";
import { readLine, type StatementLine } from "./entry.ts";
import type { Meter } from "./meter.ts";

export const USAGE_GROUPINGS = ["user", "session", "agent", "model", "day", "month"] as const;
type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

export interface UsageQuery extends Period {
  readonly by: UsageGrouping;
}

/** What was used by one user, session, agent, model or in one period. */
export interface UsageGroup {
  /** Null where that is not known. */
  readonly name: string | null;
  readonly turns: number;
  readonly chargedMicro: number;
  /** Turns whose price was unknown: they count as nothing in what was charged. */
  readonly unpricedTurns: number;
  /** Turns whose agent did not tell its tokens: their reserve was charged. */
  readonly unknownTurns: number;
  readonly tokens: TokenUsage;
}

export interface UsageReport {
  readonly by: UsageGrouping;
  readonly groups: readonly UsageGroup[];
}

const NAME_OF: Readonly<Record<UsageGrouping, (line: StatementLine) => string | null>> = {
  user: ({ userId }) => userId,
  session: ({ sessionId }) => sessionId,
  agent: ({ agent }) => agent,
  model: ({ model }) => model,
  day: ({ atMs }) => new Date(atMs).toISOString().slice(0, 10),
  month: ({ atMs }) => monthName(monthOf(atMs)),
};

/**
 * What was used, by the charges in the journal: one for every turn that ended. The journal is read
 * once through, a page at a time; only the groups are held.
 */
export async function usageReport(
  store: SessionStore,
  tenantId: TenantId,
  { by, ...period }: UsageQuery,
): Promise<Result<UsageReport>> {
  const groups = new Map<string | null, UsageGroup>();
  for (let after = 0, more = true; more; ) {
    const query = { journal: "ledger", after, limit: PAGE_ROWS_MAX } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return page;
    for (const row of page.value.rows) {
      const line = isWithin(period, row.atMs) ? readLine(row) : null;
      if (line?.kind === "charge") count(groups, NAME_OF[by](line), line);
    }
    after = page.value.rows.at(-1)?.seq ?? after;
    more = page.value.more;
  }
  const byName = [...groups.values()].toSorted((a, b) => order(a.name, b.name));
  return ok({ by, groups: byName });
}

function count(groups: Map<string | null, UsageGroup>, named: string | null, line: StatementLine) {
  const isFull = groups.size >= USAGE_GROUPS_MAX && !groups.has(named);
  const name = isFull ? "other" : named;
  const { turns, chargedMicro, unpricedTurns, unknownTurns, tokens } = groups.get(name) ?? NOTHING;
  groups.set(name, {
    name,
    turns: turns + 1,
    chargedMicro: addCounts(chargedMicro, line.amountMicro),
    unpricedTurns: unpricedTurns + (line.isPriced ? 0 : 1),
    unknownTurns: unknownTurns + (line.isUsageKnown ? 0 : 1),
    tokens: addTokens(tokens, line.tokens),
  });
}

const NOTHING = { turns: 0, chargedMicro: 0, unpricedTurns: 0, unknownTurns: 0, tokens: NO_TOKENS };

function order(a: string | null, b: string | null): number {
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

export interface StatementQuery extends Period {
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
  { after, limit, ...period }: StatementQuery,
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

const COLUMNS = [
  ...["seq", "at", "kind", "id", "n", "amountMicro", "sessionId", "userId", "agent", "model"],
  ...[
    "input",
    "output",
    "cachedRead",
    "cachedWrite",
    "thought",
    "priced",
    "note",
    "aside",
    "usage",
  ],
];

/** What is stated of a period, a page at a time, so that its length costs no memory. */
export async function statementCsv(
  meter: Meter,
  tenantId: TenantId,
  from: Omit<StatementQuery, "limit">,
  shown: ShownLines = async (lines) => lines,
): Promise<Result<AsyncIterable<string>>> {
  const wish = { ...from, limit: STATEMENT_ROWS_MAX };
  const first = await meter.statement(tenantId, wish);
  return first.ok ? ok(pagesOf(meter, tenantId, wish, first.value, shown)) : first;
}

/** Takes out of lines what their reader may not see. */
type ShownLines = (lines: readonly StatementLine[]) => Promise<readonly StatementLine[]>;

async function* pagesOf(
  meter: Meter,
  tenantId: TenantId,
  wish: StatementQuery,
  first: StatementPage,
  shown: ShownLines,
) {
  yield csvLine(COLUMNS);
  for (let page = first; ; ) {
    yield (await shown(page.lines)).map(rowOf).join("");
    if (page.nextAfter === null) return;
    const next = await meter.statement(tenantId, { ...wish, after: page.nextAfter });
    // A file that is cut off must be seen to be: its writer is told by this.
    if (!next.ok) throw new Error(next.refusal.code);
    page = next.value;
  }
}

function rowOf({
  atMs,
  turnId,
  isPriced,
  isAside,
  isUsageKnown,
  tokens,
  ...line
}: StatementLine): string {
  const { seq, kind, n, amountMicro, sessionId, userId, agent, model, note } = line;
  const { input, output, cachedRead, cachedWrite, thought } = tokens;
  const cells = [
    ...[seq, new Date(atMs).toISOString(), kind, turnId, n, amountMicro, sessionId, userId],
    ...[agent, model, input, output, cachedRead, cachedWrite, thought, isPriced, note, isAside],
    isUsageKnown ? "" : "unknown",
  ];
  return csvLine(cells);
}

/** From this time on, and before that one. */
export interface Period {
  readonly fromMs: number;
  readonly beforeMs: number;
}

export const ALL_TIME: Period = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };

function isWithin({ fromMs, beforeMs }: Period, atMs: number): boolean {
  return atMs >= fromMs && atMs < beforeMs;
}

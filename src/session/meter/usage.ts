import type { TenantId } from "../../core/id.ts";
import { PAGE_ROWS_MAX, USAGE_GROUPS_MAX } from "../../core/limits.ts";
import { addCounts, addTokens, NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine, type StatementLine } from "./entry.ts";
import { isWithin, type Period } from "./period.ts";

export const USAGE_GROUPINGS = ["user", "session", "agent", "model", "day"] as const;
type UsageGrouping = (typeof USAGE_GROUPINGS)[number];

export interface UsageWish extends Period {
  readonly by: UsageGrouping;
}

interface UsageGroup {
  /** Null where nobody said who or what it was. */
  readonly name: string | null;
  readonly turns: number;
  readonly chargedMicro: number;
  /** Turns whose price nobody knew: they count as nothing in what was charged. */
  readonly unpricedTurns: number;
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
};

/**
 * What was used, by the charges in the journal: one for every turn that ended. The journal is read
 * once through, a page at a time; only the groups are held.
 */
export async function usageReport(
  store: SessionStore,
  tenantId: TenantId,
  { by, ...period }: UsageWish,
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
  const { turns, chargedMicro, unpricedTurns, tokens } = groups.get(name) ?? NOTHING;
  groups.set(name, {
    name,
    turns: turns + 1,
    chargedMicro: addCounts(chargedMicro, line.amountMicro),
    unpricedTurns: unpricedTurns + (line.isPriced ? 0 : 1),
    tokens: addTokens(tokens, line.tokens),
  });
}

const NOTHING = { turns: 0, chargedMicro: 0, unpricedTurns: 0, tokens: NO_TOKENS };

function order(a: string | null, b: string | null): number {
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

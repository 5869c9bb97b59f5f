import type { SessionId } from "../../core/id.ts";
import { type Month, monthOf } from "../../core/month.ts";
import type { Allowance } from "./allowance.ts";
import { warningOf } from "./budget-watch.ts";
import type { StatementLine } from "./entry.ts";
import type { CreditWarning } from "./meter.ts";
import type { Sums } from "./sums.ts";

/** What the tenant and one user have been charged: in all, and in one month. */
export interface ChargedSoFar {
  readonly tenantMicro: number;
  readonly userMicro: number;
  /** Null where that is not held in memory. */
  readonly tenantMonthMicro: number | null;
  readonly userMonthMicro: number | null;
}

/** As the sums are, for the user and the month of an entry of the journal. */
export function chargedSoFar(
  { account, chargedByUser, months }: Sums,
  { userId, atMs }: StatementLine,
): ChargedSoFar {
  const month = months.of(monthOf(atMs));
  return {
    tenantMicro: account.chargedMicro,
    userMicro: (userId && chargedByUser.get(userId)) || 0,
    tenantMonthMicro: month?.chargedMicro ?? null,
    userMonthMicro: (userId && month?.byUser.of(userId)) ?? null,
  };
}

/** Budgets of a tenant and its users that came near since the start, until a session says so. */
export class TenantWarnings {
  readonly #bySession = new Map<SessionId, CreditWarning[]>();

  /**
   * A budget comes near once: with the charge that takes it over the line. A charge whose entry is
   * of another month than this one has nothing to do with the budget of this month.
   */
  watch(
    { kind, sessionId, userId, atMs }: StatementLine,
    allowance: Allowance,
    thisMonth: Month,
    before: ChargedSoFar,
    after: ChargedSoFar,
  ) {
    if (kind !== "charge" || sessionId === null) return;
    const limitOf = (budgets: Allowance["userMicro"]) => (userId && budgets.get(userId)) ?? null;
    const user = { scope: "user", ...(userId !== null && { userId }) } as const;
    const ofUser = limitOf(allowance.userMicro);
    const told = [
      warningOf({ scope: "tenant" }, allowance.tenantMicro, before.tenantMicro, after.tenantMicro),
      warningOf(user, ofUser, before.userMicro, after.userMicro),
    ];
    const month = monthOf(atMs);
    const { tenantMonthMicro: tenantBefore, userMonthMicro: userBefore } = before;
    const { tenantMonthMicro: tenantAfter, userMonthMicro: userAfter } = after;
    if (month === thisMonth && tenantBefore !== null && tenantAfter !== null) {
      const limit = { scope: "tenant", month } as const;
      told.push(warningOf(limit, allowance.tenantMonthMicro, tenantBefore, tenantAfter));
    }
    if (month === thisMonth && userBefore !== null && userAfter !== null) {
      const budgetMicro = limitOf(allowance.userMonthMicro);
      told.push(warningOf({ ...user, month }, budgetMicro, userBefore, userAfter));
    }
    const warnings = told.filter((warning) => warning !== null);
    if (warnings.length === 0) return;
    this.#bySession.set(sessionId, [...(this.#bySession.get(sessionId) ?? []), ...warnings]);
  }

  take(sessionId: SessionId): readonly CreditWarning[] {
    const warnings = this.#bySession.get(sessionId) ?? [];
    this.#bySession.delete(sessionId);
    return warnings;
  }
}

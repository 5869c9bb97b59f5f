import type { CreditWarning } from "./meter.ts";

/** How much of a budget may be used before people are warned (design, section 9). */
const WARNING_PERCENT = 80n;

/** If these charges have just passed the line at which a budget is nearly used up. */
export function warningOf(
  scope: CreditWarning["scope"],
  budgetMicro: number | null,
  beforeMicro: number,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null) return null;
  const line = Number((BigInt(budgetMicro) * WARNING_PERCENT + 99n) / 100n);
  return beforeMicro < line && line <= usedMicro ? { scope, usedMicro, budgetMicro } : null;
}

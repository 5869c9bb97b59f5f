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
  if (budgetMicro === null || beforeMicro >= lineOf(budgetMicro)) return null;
  return standingWarningOf(scope, budgetMicro, usedMicro);
}

/** If a budget is nearly used up as it stands; where nothing is used, there is nothing to say. */
export function standingWarningOf(
  scope: CreditWarning["scope"],
  budgetMicro: number | null,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null || usedMicro === 0 || usedMicro < lineOf(budgetMicro)) return null;
  return { scope, usedMicro, budgetMicro };
}

function lineOf(budgetMicro: number): number {
  return Number((BigInt(budgetMicro) * WARNING_PERCENT + 99n) / 100n);
}

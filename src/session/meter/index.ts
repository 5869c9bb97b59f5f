export type { BudgetScope } from "./allowance.ts";
export type { WaitingForCredit } from "./credit-wait.ts";
export type { StatementLine } from "./entry.ts";
export { GRANT_ID_RULE, readGrantId } from "./entry.ts";
export { LedgerMeter } from "./ledger-meter.ts";
export type { Balance, BudgetUse, Meter } from "./meter.ts";
export { PriceTable } from "./price-table.ts";
export {
  ALL_TIME,
  type Period,
  statementCsv,
  USAGE_GROUPINGS,
  type UsageQuery,
  type UsageReport,
} from "./usage.ts";

export type { StatementLine } from "./entry.ts";
export { LedgerMeter } from "./ledger-meter.ts";
export type { Balance, Meter } from "./meter.ts";
export { PriceTable, readPrices } from "./price-table.ts";
export { promptStart, promptStarted } from "./prompt-credit.ts";
export { statementCsv } from "./statement-csv.ts";
export { USAGE_GROUPINGS } from "./usage.ts";

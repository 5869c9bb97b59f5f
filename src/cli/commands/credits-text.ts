import type { Balance, BudgetUse, UsageReport } from "../../session/meter/index.ts";
import { tableText } from "../output.ts";

const MICRO_IN_CREDIT = 1_000_000n;
const DECIMALS = 6;

/** How a person reads an amount: `12,500.25` credits; every micro-credit is shown, none rounded. */
function creditsText(micro: number): string {
  const amount = BigInt(micro);
  const size = amount < 0n ? -amount : amount;
  const whole = (size / MICRO_IN_CREDIT).toLocaleString("en-US");
  const rest = (size % MICRO_IN_CREDIT).toString().padStart(DECIMALS, "0");
  const decimals = rest.replace(/0{1,4}$/, "");
  return `${amount < 0n ? "-" : ""}${whole}.${decimals}`;
}

/** What a person writes: `5000000` micro-credits, or `5cr` and `0.25cr`; null if it is neither. */
export function readCredits(text: string): number | null {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  const [, whole, decimals = ""] = /^(\d{1,10})(?:\.(\d{1,6}))?cr$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const micro = BigInt(whole) * MICRO_IN_CREDIT + BigInt(decimals.padEnd(DECIMALS, "0"));
  return Number(micro);
}

/** The columns of a table are at most so wide together: it fits a terminal. */
const NAME_CHARS_MAX = 44;

function nameText(name: string): string {
  return name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX - 1)}…` : name;
}

/** A balance in credits, with this month and all budgets. */
export function balanceText(tenantId: string, balance: Balance): string {
  const { limit, availableMicro, month, budgets } = balance;
  const { grantedMicro, chargedMicro, openMicro, openTurns } = balance;
  const left = availableMicro === null ? "no limit" : creditsText(availableMicro);
  const figures = [
    ["available", left, `limit: ${limit ?? "not set"}`],
    ["granted", creditsText(grantedMicro), ""],
    ["charged", creditsText(chargedMicro), "in total"],
    ["charged", creditsText(month.chargedMicro), `in ${month.name} (UTC)`],
    ["reserved", creditsText(openMicro), `by ${openTurns} running turns`],
  ];
  const account = tableText(["CREDITS", `OF ${nameText(tenantId)}`, ""], figures);
  if (budgets.length === 0) return `${account}\n\nNo budgets.`;
  const headings = ["BUDGET OF", "PERIOD", "CREDITS", "USED", "LEFT", "RENEWED (UTC)"];
  return `${account}\n\n${tableText(headings, budgets.map(budgetRow))}`;
}

function budgetRow({ scope, period, renewsAt, ...figures }: BudgetUse): readonly string[] {
  const { budgetMicro, usedMicro, leftMicro } = figures;
  const amounts = [budgetMicro, usedMicro, leftMicro].map(creditsText);
  return [nameText(scope), period, ...amounts, renewsAt?.slice(0, 10) ?? "-"];
}

/** Usage in credits, one line for each group. */
export function usageText({ by, groups }: UsageReport): string {
  const rows = groups.map(({ name, turns, chargedMicro, unpricedTurns, unknownTurns, tokens }) => {
    const counts = [turns, unpricedTurns, unknownTurns, tokens.input, tokens.output];
    const figures = counts.map((count) => count.toLocaleString("en-US"));
    return [nameText(name ?? "-"), creditsText(chargedMicro), ...figures];
  });
  const headings = [
    ...[by.toUpperCase(), "CREDITS", "TURNS", "UNPRICED", "UNKNOWN"],
    ...["TOKENS IN", "TOKENS OUT"],
  ];
  return tableText(headings, rows);
}

import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import {
  LedgerMeter,
  type Meter,
  type Period,
  PriceTable,
  statementCsv,
} from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { type DataAct, type Outcome, runCommand } from "./command-frame.ts";
import { type CreditsWish, parseCredits, readCredits } from "./credits-wish.ts";
import { inStore } from "./data-store.ts";
import { readableTenant, spendingTenant } from "./known-tenant.ts";
import { OPERATOR } from "./stored-session.ts";

const CREDITS_USAGE = `Usage: fermata credits balance
       fermata credits grant MICRO [--id ID] [--note TEXT]
       fermata credits limit granted|unlimited
       fermata credits budget tenant|user:NAME MICRO|none
       fermata credits statement [--from TIME] [--to TIME]
       fermata credits usage [--by user|session|agent|model|day]
                             [--from TIME] [--to TIME]

What a tenant may spend, has spent, and has set aside, in whole micro-credits. All
of it works beside a server at work. Turns that wait for credits go on within a
minute, and a tenant that had neither a limit nor a budget is held to a new one
within a minute; everybody else from the next turn on. A limit that is "not set" is
as the server is set (serve --tenant-credits). The budget of a session is in that
session: POST /credits/budgets/session:ID. The statement is CSV, all else is JSON.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose credits (local).
  --id ID        Of a grant: the same id with the same words is granted once. It is
                 1 to 128 letters, digits and . _ : -
  --note TEXT    What to know it by.
  --by WORD      What usage is counted by (day).
  --from TIME    From then on, as in 2026-05-01 or 2026-05-01T12:00Z.
  --to TIME      Before then.
`;

/** Shows and changes what a tenant may spend. */
export function credits(args: readonly string[]): Promise<number> {
  const command = { name: "credits", usage: CREDITS_USAGE, parse: parseCredits };
  return runCommand({ ...command, read: (...line) => actOf(readCredits(...line)) }, args);
}

function actOf(wish: Result<CreditsWish>): Result<DataAct> {
  if (!wish.ok) return wish;
  return ok((data) => inStore(data, (store) => carryOut(store, wish.value)));
}

async function carryOut(
  store: SessionStore,
  { tenantId, what }: CreditsWish,
): Promise<Result<Outcome>> {
  const meter = meterOf(store);
  const isRead = READS.has(what.act);
  const known = await (isRead ? readableTenant : spendingTenant)(store, tenantId);
  if (!known.ok) return known;
  switch (what.act) {
    case "balance":
      return shown(await meter.balance(tenantId));
    case "grant":
      return shown(await meter.grant(tenantId, { ...what, by: OPERATOR }));
    case "limit":
      return shown(await meter.setLimit(tenantId, what.limit, OPERATOR));
    case "budget":
      return shown(await meter.setBudget(tenantId, what.scope, what.budgetMicro, OPERATOR));
    case "usage":
      return shown(await meter.usage(tenantId, what.wish));
    case "statement":
      return printStatement(meter, tenantId, what.period);
  }
}

const READS: ReadonlySet<CreditsWish["what"]["act"]> = new Set(["balance", "statement", "usage"]);

async function printStatement(
  meter: Meter,
  tenantId: TenantId,
  period: Period,
): Promise<Result<Outcome>> {
  const csv = await statementCsv(meter, tenantId, { ...period, after: 0 });
  if (!csv.ok) return csv;
  for await (const piece of csv.value) process.stdout.write(piece);
  return ok({});
}

function shown<Value extends object>(result: Result<Value>): Result<Outcome> {
  if (!result.ok) return result;
  const { value } = result;
  const told = "limit" in value && value.limit === null ? { ...value, limit: "not set" } : value;
  return ok({ shown: JSON.stringify(told, null, 2) });
}

/** No turn begins here, so it needs no prices; and how the server is set is not known here. */
function meterOf(store: SessionStore): Meter {
  return new LedgerMeter({
    store,
    prices: new PriceTable(),
    usualLimit: (tenantId) => (tenantId === "local" ? "unlimited" : null),
    nowMs: () => Date.now(),
    log: () => {},
  });
}

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { parseUserId, type TenantId } from "../../core/id.ts";
import { GRANT_NOTE_CHARS_MAX, MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { isCount } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import { firstProblem, timeField } from "../../server/http/request-schema.ts";
import {
  ALL_TIME,
  type BudgetScope,
  GRANT_ID_RULE,
  LedgerMeter,
  type Meter,
  type Period,
  PriceTable,
  readGrantId,
  statementCsv,
  USAGE_GROUPINGS,
  type UsageWish,
} from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import {
  type DataAct,
  inStore,
  OPERATOR,
  type Outcome,
  runCommand,
  TENANT_OPTIONS,
  wrong,
} from "./data-command.ts";
import { namedTenant, readableTenant, spendingTenant } from "./tenant-lookup.ts";

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

type CreditsAct =
  | { readonly act: "balance" }
  | {
      readonly act: "grant";
      readonly id: string;
      readonly amountMicro: number;
      readonly note: string | null;
    }
  | { readonly act: "limit"; readonly limit: "granted" | "unlimited" }
  | { readonly act: "budget"; readonly scope: BudgetScope; readonly budgetMicro: number | null }
  | { readonly act: "statement"; readonly period: Period }
  | { readonly act: "usage"; readonly wish: UsageWish };

/** What a person wants of a tenant's credits. */
export interface CreditsWish {
  readonly tenantId: TenantId;
  readonly what: CreditsAct;
}

const OPTIONS = {
  ...TENANT_OPTIONS,
  id: { type: "string" },
  note: { type: "string" },
  by: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
} as const;

/** Takes a command line apart. */
export const parseCredits = (args: readonly string[]) => {
  // Left alone, a number below zero would be an option that nobody knows.
  const below = args.find((arg, at) => /^-\d/.test(arg) && !/^--[^=]+$/.test(args[at - 1] ?? ""));
  if (below !== undefined) throw new Error(`${quoted(below)} is no amount; ${WHOLE}`);
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
};

type Given = ReturnType<typeof parseCredits>["values"];

const WHOLE = "amounts are whole micro-credits, as 5000000 for five credits";
const ACTS = "balance, grant MICRO, limit, budget, statement or usage";

/** What an act takes beside the tenant; and which acts take it. */
const TAKEN_BY = {
  id: ["grant"],
  note: ["grant"],
  by: ["usage"],
  from: ["statement", "usage"],
  to: ["statement", "usage"],
} as const satisfies Partial<Record<keyof typeof OPTIONS, readonly CreditsAct["act"][]>>;

/** What makes no sense is refused with the sentence that says why. */
export function readCredits(given: Given, words: readonly string[]): Result<CreditsWish> {
  const tenantId = namedTenant(given.tenant);
  if (!tenantId.ok) return tenantId;
  const what = readAct(words, given);
  if (!what.ok) return what;
  for (const [option, acts] of Object.entries(TAKEN_BY)) {
    const isTaken = acts.some((act) => act === what.value.act);
    if (!isTaken && Object.hasOwn(given, option)) {
      return wrong(`--${option} goes with ${acts.join(" and ")} only`);
    }
  }
  return ok({ tenantId: tenantId.value, what: what.value });
}

function readAct([act, ...words]: readonly string[], given: Given): Result<CreditsAct> {
  switch (act) {
    case "balance":
      return alone(words) ?? ok({ act });
    case "grant":
      return grant(words, given);
    case "limit":
      return limit(words);
    case "budget":
      return budget(words);
    case "statement":
      return alone(words) ?? statement(given);
    case "usage":
      return alone(words) ?? usage(given);
    default:
      return wrong(act === undefined ? `it takes ${ACTS}` : `${quoted(act)} is none of ${ACTS}`);
  }
}

/** Null if there are no more words than there should be. */
function alone([word]: readonly string[]): Result<never> | null {
  return word === undefined ? null : wrong(`${quoted(word)} is too much`);
}

function grant([word, ...more]: readonly string[], given: Given): Result<CreditsAct> {
  if (word === undefined) return wrong(`grant takes how much; ${WHOLE}`);
  const amountMicro = amountOf(word, 1);
  if (!amountMicro.ok) return amountMicro;
  const { id = randomUUID(), note = null } = given;
  if (!readGrantId(id).ok) return wrong(`--id is ${GRANT_ID_RULE}`);
  if ((note?.length ?? 0) > GRANT_NOTE_CHARS_MAX) {
    return wrong(`--note has at most ${GRANT_NOTE_CHARS_MAX} characters`);
  }
  return alone(more) ?? ok({ act: "grant", id, amountMicro: amountMicro.value, note });
}

function limit([word, ...more]: readonly string[]): Result<CreditsAct> {
  if (word !== "granted" && word !== "unlimited") {
    return wrong("limit takes granted (the tenant spends what it was granted) or unlimited");
  }
  return alone(more) ?? ok({ act: "limit", limit: word });
}

/** Of the tenant or of one of its users; `none` takes it away. */
function budget([whose, much, ...more]: readonly string[]): Result<CreditsAct> {
  if (whose === undefined || much === undefined) {
    return wrong("budget takes whose it is and how much, as in tenant 5000000 or user:ada none");
  }
  if (whose.startsWith("session:")) {
    return wrong("a session's budget is set at the server, with POST /credits/budgets/session:ID");
  }
  const userId = whose.startsWith("user:") ? parseUserId(whose.slice("user:".length)) : null;
  if (whose !== "tenant" && userId === null) {
    const rule = "with a NAME of letters, digits and . _ : -";
    return wrong(`${quoted(whose)} is not whose a budget is: write tenant, or user:NAME ${rule}`);
  }
  const budgetMicro = much === "none" ? ok(null) : amountOf(much, 0);
  if (!budgetMicro.ok) return wrong(`${budgetMicro.refusal.details.reason}; none takes it away`);
  const scope = userId === null ? ({ of: "tenant" } as const) : ({ of: "user", userId } as const);
  return alone(more) ?? ok({ act: "budget", scope, budgetMicro: budgetMicro.value });
}

function amountOf(word: string, least: number): Result<number> {
  const amount = /^\d{1,16}$/.test(word) ? Number(word) : Number.NaN;
  if (isCount(amount) && amount >= least) return ok(amount);
  return wrong(`${quoted(word)} is no amount; ${WHOLE}, from ${least} to ${MICRO_CREDITS_MAX}`);
}

function statement(given: Given): Result<CreditsAct> {
  const period = periodOf(given);
  return period.ok ? ok({ act: "statement", period: period.value }) : period;
}

function usage(given: Given): Result<CreditsAct> {
  const by = USAGE_GROUPINGS.find((one) => one === (given.by ?? "day"));
  if (by === undefined) return wrong(`--by is one of ${USAGE_GROUPINGS.join(", ")}`);
  const period = periodOf(given);
  return period.ok ? ok({ act: "usage", wish: { by, ...period.value } }) : period;
}

function periodOf({ from, to }: Given): Result<Period> {
  const fromMs = momentOf("--from", from, ALL_TIME.fromMs);
  if (!fromMs.ok) return fromMs;
  const beforeMs = momentOf("--to", to, ALL_TIME.beforeMs);
  if (!beforeMs.ok) return beforeMs;
  if (fromMs.value > beforeMs.value) return wrong("--from is after --to");
  return ok({ fromMs: fromMs.value, beforeMs: beforeMs.value });
}

function momentOf(option: string, text: string | undefined, usual: number): Result<number> {
  if (text === undefined) return ok(usual);
  const read = timeField.safeParse(text);
  return read.success ? ok(read.data) : wrong(`${option}: ${firstProblem(read.error).text}`);
}

function quoted(word: string): string {
  return JSON.stringify(word);
}

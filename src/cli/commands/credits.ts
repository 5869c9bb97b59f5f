import { randomUUID } from "node:crypto";
import { parseUserId, type TenantId } from "../../core/id.ts";
import { GRANT_NOTE_CHARS_MAX, MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { isCount } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import { firstProblem, timeField } from "../../server/http/request-schema.ts";
import {
  ALL_TIME,
  type Balance,
  type BudgetScope,
  GRANT_ID_RULE,
  LedgerMeter,
  type Meter,
  type Period,
  PriceTable,
  readGrantId,
  statementCsv,
  USAGE_GROUPINGS,
  type UsageQuery,
  type UsageReport,
} from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { expectedWord, oneOf } from "../command-line.ts";
import type { RowValues } from "../parse-row.ts";
import { CREDITS } from "../table/people.ts";
import { balanceText, readCredits, usageText } from "./credits-text.ts";
import {
  type CommandOutput,
  type DataAction,
  inStore,
  OPERATOR,
  runCommand,
  wrong,
} from "./data-command.ts";
import { readTenantName, requireReadableTenant, requireSpendingTenant } from "./tenant-lookup.ts";

/** Shows and changes what a tenant may spend. */
export function credits(args: readonly string[]): Promise<number> {
  return runCommand({ row: CREDITS, fault: negativeAmount, read }, args);
}

function read(flags: CreditsFlags, words: readonly string[]): Result<DataAction> {
  const tenantId = readTenantName(flags.tenant);
  if (!tenantId.ok) return tenantId;
  const request = readRequest(words, flags);
  if (!request.ok) return request;
  for (const [option, acts] of Object.entries(TAKEN_BY)) {
    const isTaken = acts.some((act) => act === request.value.act);
    if (!isTaken && Object.hasOwn(flags, option)) {
      return wrong(`--${option} is only for ${acts.join(" and ")}`);
    }
  }
  const show = shownAs(tenantId.value, flags.json === true);
  return ok((data) =>
    inStore(data, (store) => perform(store, tenantId.value, request.value, show)),
  );
}

async function perform(
  store: SessionStore,
  tenantId: TenantId,
  request: CreditsRequest,
  show: ReturnType<typeof shownAs>,
): Promise<Result<CommandOutput>> {
  const meter = meterOf(store);
  const check = READS.has(request.act) ? requireReadableTenant : requireSpendingTenant;
  const known = await check(store, tenantId);
  if (!known.ok) return known;
  switch (request.act) {
    case "balance":
      return show.balance(await meter.balance(tenantId));
    case "grant":
      return show.balance(await meter.grant(tenantId, { ...request, by: OPERATOR }));
    case "revoke":
      return show.balance(await meter.revoke(tenantId, { ...request, by: OPERATOR }));
    case "limit":
      return show.balance(await meter.setLimit(tenantId, request.limit, OPERATOR));
    case "budget": {
      const { scope, budgetMicro } = request;
      return show.balance(await meter.setBudget(tenantId, scope, budgetMicro, OPERATOR));
    }
    case "usage":
      return show.usage(await meter.usage(tenantId, request.wish));
    case "statement":
      return printStatement(meter, tenantId, request.period);
  }
}

const READS: ReadonlySet<CreditsRequest["act"]> = new Set(["balance", "statement", "usage"]);

async function printStatement(
  meter: Meter,
  tenantId: TenantId,
  period: Period,
): Promise<Result<CommandOutput>> {
  const csv = await statementCsv(meter, tenantId, { ...period, after: 0 });
  if (!csv.ok) return csv;
  for await (const piece of csv.value) process.stdout.write(piece);
  return ok({});
}

/** As tables for people, or as JSON for programs. */
function shownAs(tenantId: TenantId, isJson: boolean) {
  const shown = <Value>(result: Result<Value>, text: (value: Value) => string) =>
    result.ok ? ok({ shown: text(result.value) }) : result;
  const balanceJson = (balance: Balance) =>
    JSON.stringify({ ...balance, limit: balance.limit ?? "not set" }, null, 2);
  return {
    balance: (result: Result<Balance>) =>
      shown(result, isJson ? balanceJson : (balance) => balanceText(tenantId, balance)),
    usage: (result: Result<UsageReport>) =>
      shown(result, isJson ? (usage) => JSON.stringify(usage, null, 2) : usageText),
  };
}

/** A meter without prices, since no turn begins here, and without the options of the server. */
function meterOf(store: SessionStore): Meter {
  return new LedgerMeter({
    store,
    prices: new PriceTable(),
    usualLimit: (tenantId) => (tenantId === "local" ? "unlimited" : null),
    nowMs: () => Date.now(),
    log: () => {},
  });
}

type CreditsRequest =
  | { readonly act: "balance" }
  | {
      readonly act: "grant";
      readonly id: string;
      readonly amountMicro: number;
      readonly note: string | null;
    }
  | { readonly act: "revoke"; readonly id: string; readonly note: string | null }
  | { readonly act: "limit"; readonly limit: "granted" | "unlimited" }
  | { readonly act: "budget"; readonly scope: BudgetScope; readonly budgetMicro: number | null }
  | { readonly act: "statement"; readonly period: Period }
  | { readonly act: "usage"; readonly wish: UsageQuery };

/** Else a negative number would be taken for an unknown option. */
function negativeAmount(args: readonly string[]): string | null {
  const negative = args.find(
    (arg, at) => /^-\d/.test(arg) && !/^--[^=]+$/.test(args[at - 1] ?? ""),
  );
  return negative === undefined ? null : `${quoted(negative)} is not an amount; ${WHOLE}`;
}

type CreditsFlags = RowValues<typeof CREDITS>;

const WHOLE = "amounts are whole micro-credits, as in 5000000, or credits, as in 5cr or 0.25cr";
const ACTS = "balance, grant AMOUNT, revoke ID, limit, budget, statement or usage";

/** Which acts take which option, beside the tenant. */
const TAKEN_BY = {
  id: ["grant"],
  note: ["grant", "revoke"],
  by: ["usage"],
  from: ["statement", "usage"],
  to: ["statement", "usage"],
  month: ["budget"],
  json: ["balance", "grant", "revoke", "limit", "budget", "usage"],
} as const satisfies Partial<Record<keyof CreditsFlags, readonly CreditsRequest["act"][]>>;

function readRequest(
  [act, ...words]: readonly string[],
  flags: CreditsFlags,
): Result<CreditsRequest> {
  switch (act) {
    case "balance":
      return noMore(words) ?? ok({ act });
    case "grant":
      return readGrant(words, flags);
    case "revoke":
      return readRevocation(words, flags);
    case "limit":
      return readLimit(words);
    case "budget":
      return readBudget(words, flags);
    case "statement":
      return noMore(words) ?? readStatement(flags);
    case "usage":
      return noMore(words) ?? readUsage(flags);
    default:
      return wrong(expectedWord(act, ACTS));
  }
}

/** Null if there are no further arguments. */
function noMore([word]: readonly string[]): Result<never> | null {
  return word === undefined ? null : wrong(`unexpected argument ${quoted(word)}`);
}

function readGrant(
  [word, ...more]: readonly string[],
  flags: CreditsFlags,
): Result<CreditsRequest> {
  if (word === undefined) return wrong(`grant needs an amount; ${WHOLE}`);
  const amountMicro = amountOf(word, 1);
  if (!amountMicro.ok) return amountMicro;
  const { id = randomUUID() } = flags;
  if (!readGrantId(id).ok) return wrong(`--id must be ${GRANT_ID_RULE}`);
  const note = readNote(flags);
  if (!note.ok) return note;
  return noMore(more) ?? ok({ act: "grant", id, amountMicro: amountMicro.value, note: note.value });
}

function readRevocation(
  [id, ...more]: readonly string[],
  flags: CreditsFlags,
): Result<CreditsRequest> {
  if (id === undefined) return wrong("revoke needs the id of a grant; the statement has them");
  if (!readGrantId(id).ok) return wrong(`the id of a grant is ${GRANT_ID_RULE}`);
  const note = readNote(flags);
  if (!note.ok) return note;
  return noMore(more) ?? ok({ act: "revoke", id, note: note.value });
}

function readNote({ note = null }: { readonly note?: string | null }): Result<string | null> {
  if ((note?.length ?? 0) <= GRANT_NOTE_CHARS_MAX) return ok(note);
  return wrong(`--note must have at most ${GRANT_NOTE_CHARS_MAX} characters`);
}

function readLimit([word, ...more]: readonly string[]): Result<CreditsRequest> {
  if (word !== "granted" && word !== "unlimited") {
    return wrong("limit must be granted (the tenant spends what it was granted) or unlimited");
  }
  return noMore(more) ?? ok({ act: "limit", limit: word });
}

/** A budget of the tenant or of one of its users; `none` removes it. */
function readBudget(
  [whose, much, ...more]: readonly string[],
  flags: CreditsFlags,
): Result<CreditsRequest> {
  if (whose === undefined || much === undefined) {
    return wrong("budget needs an owner and an amount, as in tenant 5000000 or user:ada none");
  }
  if (whose.startsWith("session:")) {
    return wrong("to set the budget of a session, use POST /credits/budgets/session:ID");
  }
  const userId = whose.startsWith("user:") ? parseUserId(whose.slice("user:".length)) : null;
  if (whose !== "tenant" && userId === null) {
    const rule = "with a NAME of letters, digits and . _ : -";
    return wrong(`${quoted(whose)} cannot have a budget: use tenant, or user:NAME ${rule}`);
  }
  const budgetMicro = much === "none" ? ok(null) : amountOf(much, 0);
  if (!budgetMicro.ok) return wrong(`${budgetMicro.refusal.details.reason}; none removes it`);
  const period = flags.month === true ? "month" : "total";
  const of = userId === null ? ({ of: "tenant" } as const) : ({ of: "user", userId } as const);
  const scope: BudgetScope = { ...of, period };
  return noMore(more) ?? ok({ act: "budget", scope, budgetMicro: budgetMicro.value });
}

function amountOf(word: string, least: number): Result<number> {
  const amount = readCredits(word);
  if (amount !== null && isCount(amount) && amount >= least) return ok(amount);
  return wrong(`${quoted(word)} is not an amount; ${WHOLE}, from ${least} to ${MICRO_CREDITS_MAX}`);
}

function readStatement(flags: CreditsFlags): Result<CreditsRequest> {
  const period = readPeriod(flags);
  return period.ok ? ok({ act: "statement", period: period.value }) : period;
}

function readUsage(flags: CreditsFlags): Result<CreditsRequest> {
  const by = USAGE_GROUPINGS.find((one) => one === (flags.by ?? "day"));
  if (by === undefined) return wrong(`--by must be ${oneOf(flags.by ?? "", USAGE_GROUPINGS)}`);
  const period = readPeriod(flags);
  return period.ok ? ok({ act: "usage", wish: { by, ...period.value } }) : period;
}

function readPeriod({ from, to }: CreditsFlags): Result<Period> {
  const fromMs = readTime("--from", from, ALL_TIME.fromMs);
  if (!fromMs.ok) return fromMs;
  const beforeMs = readTime("--to", to, ALL_TIME.beforeMs);
  if (!beforeMs.ok) return beforeMs;
  if (fromMs.value > beforeMs.value) return wrong("--from is after --to");
  return ok({ fromMs: fromMs.value, beforeMs: beforeMs.value });
}

function readTime(option: string, text: string | undefined, fallback: number): Result<number> {
  if (text === undefined) return ok(fallback);
  const read = timeField.safeParse(text);
  return read.success ? ok(read.data) : wrong(`${option}: ${firstProblem(read.error).text}`);
}

function quoted(word: string): string {
  return JSON.stringify(word);
}

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { parseTenantId, parseUserId, type TenantId } from "../../core/id.ts";
import { GRANT_NOTE_CHARS_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import {
  LedgerMeter,
  type Meter,
  PriceTable,
  statementCsv,
  USAGE_GROUPINGS,
} from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { type DataAct, type Outcome, runCommand, TENANT_OPTIONS, wrong } from "./command-frame.ts";
import { inStore } from "./data-store.ts";
import { readableTenant } from "./known-tenant.ts";
import { OPERATOR } from "./stored-session.ts";

const CREDITS_USAGE = `Usage: fermata credits balance
       fermata credits grant MICRO [--id ID] [--note TEXT]
       fermata credits limit granted|unlimited
       fermata credits budget tenant|user:NAME MICRO|none
       fermata credits statement
       fermata credits usage [--by user|session|agent|model|day]

What a tenant may spend, has spent, and has set aside, in whole micro-credits. All
of it works beside a server at work. Turns that wait for credits go on within a
minute, and a tenant that had neither a limit nor a budget is held to a new one
within a minute; everybody else from the next turn on. A limit that is "not set" is
as the server is set (serve --tenant-credits). The budget of a session is in that
session: POST /credits/budgets/session:ID. The statement is CSV, all else is JSON.

Options:
  --data DIR     The server's data directory (~/.fermata, or FERMATA_DATA).
  --tenant NAME  Whose credits (local).
  --id ID        Of a grant: the same id with the same words is granted once.
  --note TEXT    What to know it by.
  --by WORD      What usage is counted by (day).
`;

const OPTIONS = {
  ...TENANT_OPTIONS,
  id: { type: "string" },
  note: { type: "string" },
  by: { type: "string", default: "day" },
} as const;

const MISTAKE = "that is no command about credits";

interface Wish {
  readonly tenantId: TenantId;
  /** It changes nothing, so the tenant has to be there. */
  readonly isRead: boolean;
  act(meter: Meter, tenantId: TenantId): Promise<Result<Outcome>>;
}

/** Shows and changes what a tenant may spend. */
export function credits(args: readonly string[]): Promise<number> {
  const command = { name: "credits", usage: CREDITS_USAGE, mistake: MISTAKE, parse, read };
  return runCommand(command, args);
}

const parse = (args: readonly string[]) =>
  parseArgs({ args, options: OPTIONS, allowPositionals: true });

type Given = ReturnType<typeof parse>["values"];

const READS: ReadonlySet<string | undefined> = new Set(["balance", "statement", "usage"]);

function read(given: Given, words: readonly string[]): Result<DataAct> {
  const tenantId = parseTenantId(given.tenant);
  const act = actOf(words, given);
  if (tenantId === null || act === null) return wrong(MISTAKE);
  const wish = { tenantId, act, isRead: READS.has(words[0]) };
  return ok((data) => inStore(data, (store) => carryOut(store, wish)));
}

async function carryOut(
  store: SessionStore,
  { tenantId, isRead, act }: Wish,
): Promise<Result<Outcome>> {
  const known = isRead ? await readableTenant(store, tenantId) : DONE;
  return known.ok ? act(meterOf(store), tenantId) : known;
}

/** Null is a command line that says nothing that we know. */
function actOf(
  [name, word, amount, unknown]: readonly string[],
  { id = randomUUID(), note, by }: Given,
): Wish["act"] | null {
  if (unknown !== undefined || (amount !== undefined && name !== "budget")) return null;
  if (name === "grant" && word !== undefined) {
    if (!/^\d{1,16}$/.test(word) || (note?.length ?? 0) > GRANT_NOTE_CHARS_MAX) return null;
    const grant = { id, amountMicro: Number(word), note: note ?? null, by: OPERATOR };
    return async (meter, tenantId) => shown(await meter.grant(tenantId, grant));
  }
  if (name === "limit" && (word === "granted" || word === "unlimited")) {
    return async (meter, tenantId) => shown(await meter.setLimit(tenantId, word, OPERATOR));
  }
  if (name === "budget" && word !== undefined && amount !== undefined) {
    return budgetAct(word, amount);
  }
  if (word !== undefined) return null;
  if (name === "balance") return async (meter, tenantId) => shown(await meter.balance(tenantId));
  if (name === "statement") return printStatement;
  const grouping = USAGE_GROUPINGS.find((one) => one === by);
  if (name !== "usage" || grouping === undefined) return null;
  const all = { by: grouping, fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  return async (meter, tenantId) => shown(await meter.usage(tenantId, all));
}

/** Of the tenant or of one of its users; `none` takes it away. */
function budgetAct(word: string, amount: string): Wish["act"] | null {
  const userId = word.startsWith("user:") ? parseUserId(word.slice("user:".length)) : null;
  if (word !== "tenant" && userId === null) return null;
  if (amount !== "none" && !/^\d{1,16}$/.test(amount)) return null;
  const scope = userId === null ? ({ of: "tenant" } as const) : ({ of: "user", userId } as const);
  const budgetMicro = amount === "none" ? null : Number(amount);
  return async (meter, tenantId) =>
    shown(await meter.setBudget(tenantId, scope, budgetMicro, OPERATOR));
}

async function printStatement(meter: Meter, tenantId: TenantId): Promise<Result<Outcome>> {
  const csv = await statementCsv(meter, tenantId, 0);
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

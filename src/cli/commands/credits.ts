import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { errorBody } from "../../core/error.ts";
import { parseTenantId, parseUserId, type TenantId } from "../../core/id.ts";
import { GRANT_NOTE_CHARS_MAX } from "../../core/limits.ts";
import { DONE, type Result } from "../../core/result.ts";
import {
  LedgerMeter,
  type Meter,
  PriceTable,
  statementCsv,
  USAGE_GROUPINGS,
} from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/store.ts";
import { homeOf } from "../home.ts";
import { readableTenant } from "./known-tenant.ts";
import { inStore, OPERATOR } from "./stored-session.ts";

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
  data: { type: "string" },
  tenant: { type: "string", default: "local" },
  id: { type: "string" },
  note: { type: "string" },
  by: { type: "string", default: "day" },
  help: { type: "boolean", short: "h" },
} as const;

interface Wish {
  readonly folder: string;
  readonly tenantId: TenantId;
  /** It changes nothing, so the tenant has to be there. */
  readonly isRead: boolean;
  act(meter: Meter, tenantId: TenantId): Promise<Result<void>>;
}

/** Shows and changes what a tenant may spend. */
export async function credits(args: readonly string[]): Promise<number> {
  const wish = readWish(args);
  if (wish === "help") {
    process.stdout.write(CREDITS_USAGE);
    return 0;
  }
  if (wish === null) {
    console.error('fermata: that is no command about credits; see "fermata credits --help".');
    return 2;
  }
  const done = await inStore(wish.folder, (store) => carryOut(store, wish));
  if (done.ok) return 0;
  console.error(`fermata: ${errorBody(done.refusal).error}`);
  return 1;
}

async function carryOut(
  store: SessionStore,
  { tenantId, isRead, act }: Omit<Wish, "folder">,
): Promise<Result<void>> {
  const known = isRead ? await readableTenant(store, tenantId) : DONE;
  return known.ok ? act(meterOf(store), tenantId) : known;
}

const READS: ReadonlySet<string | undefined> = new Set(["balance", "statement", "usage"]);

/** Null is a command line that says nothing that we know. */
function readWish(args: readonly string[]): Wish | "help" | null {
  try {
    const parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const { data, tenant, help, ...more } = parsed.values;
    if (help) return "help";
    const tenantId = parseTenantId(tenant);
    const act = actOf(parsed.positionals, more);
    if (tenantId === null || act === null) return null;
    const { env } = process;
    const folder = join(data ?? env.FERMATA_DATA ?? homeOf(env), "sessions");
    return { folder, tenantId, act, isRead: READS.has(parsed.positionals[0]) };
  } catch {
    return null;
  }
}

function actOf(
  [name, word, amount, unknown]: readonly string[],
  { id = randomUUID(), note = null, by }: { id?: string; note?: string | null; by: string },
): Wish["act"] | null {
  if (unknown !== undefined || (amount !== undefined && name !== "budget")) return null;
  if (name === "grant" && word !== undefined) {
    if (!/^\d{1,16}$/.test(word) || (note?.length ?? 0) > GRANT_NOTE_CHARS_MAX) return null;
    const grant = { id, amountMicro: Number(word), note, by: OPERATOR };
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

async function printStatement(meter: Meter, tenantId: TenantId): Promise<Result<void>> {
  const csv = await statementCsv(meter, tenantId, 0);
  if (!csv.ok) return csv;
  for await (const piece of csv.value) process.stdout.write(piece);
  return DONE;
}

function shown<Value extends object>(result: Result<Value>): Result<void> {
  if (!result.ok) return result;
  const { value } = result;
  const told = "limit" in value && value.limit === null ? { ...value, limit: "not set" } : value;
  process.stdout.write(`${JSON.stringify(told, null, 2)}\n`);
  return DONE;
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

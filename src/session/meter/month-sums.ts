import { parseUserId, type SessionId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  LEDGER_MONTH_SESSIONS_MAX,
  LEDGER_MONTH_USERS_MAX,
  LEDGER_MONTHS_HELD_MAX,
  PAGE_ROWS_MAX,
} from "../../core/limits.ts";
import { type Month, monthOf } from "../../core/month.ts";
import { addCounts, isCount } from "../../core/price.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine, type StatementLine } from "./entry.ts";
import type { Sums } from "./sums.ts";

/**
 * Amounts by name, at most so many. One that is missing was never charged, as long as none had to
 * be left out; after that it has to be read from the journal.
 */
export class AmountTally<Name> {
  readonly amounts: Map<Name, number>;
  readonly #max: number;
  isWhole: boolean;

  constructor(max: number, amounts: ReadonlyMap<Name, number> = new Map(), isWhole = true) {
    this.#max = max;
    this.amounts = new Map([...amounts].slice(0, max));
    this.isWhole = isWhole && amounts.size <= max;
  }

  add(name: Name, amountMicro: number) {
    const before = this.amounts.get(name);
    if (before !== undefined) this.amounts.set(name, addCounts(before, amountMicro));
    else if (this.isWhole && this.amounts.size < this.#max) this.amounts.set(name, amountMicro);
    else this.isWhole = false;
  }

  /** Null where only the journal knows. */
  of(name: Name): number | null {
    return this.amounts.get(name) ?? (this.isWhole ? 0 : null);
  }

  /** Takes what the journal has; the one that is here for longest is evicted for it. */
  learn(name: Name, amountMicro: number) {
    const [first] = this.amounts.keys();
    const isFull = this.amounts.size >= this.#max && !this.amounts.has(name);
    if (isFull && first !== undefined) this.amounts.delete(first);
    this.amounts.set(name, amountMicro);
  }
}

/** What was charged in one month, by the times of the journal's entries. */
export interface MonthSums {
  chargedMicro: number;
  readonly byUser: AmountTally<UserId>;
  readonly bySession: AmountTally<SessionId>;
}

function noMonthSums(): MonthSums {
  return {
    chargedMicro: 0,
    byUser: new AmountTally(LEDGER_MONTH_USERS_MAX),
    bySession: new AmountTally(LEDGER_MONTH_SESSIONS_MAX),
  };
}

/**
 * The charges of the newest months. A charge counts in the month of its own entry, which no
 * clock changes later: so one that jumps moves no charge and counts none twice, and a month can be
 * read again from the journal at any time.
 */
export class MonthlySums {
  readonly #held: Map<Month, MonthSums>;
  /** Of later months all that was charged is held; of this one and those before, what is held. */
  #floor: Month;

  constructor(
    held: ReadonlyMap<Month, MonthSums> = new Map(),
    floor: Month = Number.NEGATIVE_INFINITY,
  ) {
    this.#held = new Map(held);
    this.#floor = floor;
  }

  /** Of a ledger whose entries so far were summed up without their months. */
  static unknown(): MonthlySums {
    return new MonthlySums(new Map(), Number.POSITIVE_INFINITY);
  }

  count(line: StatementLine) {
    if (line.kind !== "charge" || line.amountMicro === 0) return;
    const month = monthOf(line.atMs);
    const held = this.#held.get(month) ?? (month > this.#floor ? noMonthSums() : null);
    if (held === null) return;
    countIn(held, line);
    this.#hold(month, held);
  }

  /** Null where only the journal knows. */
  of(month: Month): MonthSums | null {
    return this.#held.get(month) ?? (month > this.#floor ? noMonthSums() : null);
  }

  /** Takes what the journal has of a month, and the last month that it has anything of. */
  learn({ month, sums, latest }: MonthReading) {
    this.#floor = Math.min(this.#floor, latest);
    this.#hold(month, sums);
  }

  #hold(month: Month, sums: MonthSums) {
    this.#held.set(month, sums);
    if (this.#held.size <= LEDGER_MONTHS_HELD_MAX) return;
    const oldest = Math.min(...[...this.#held.keys()].filter((one) => one !== month));
    this.#held.delete(oldest);
    this.#floor = Math.max(this.#floor, oldest);
  }

  /** Sessions are left out: what one of them was charged is quickly read from the journal. */
  toJson(): JsonObject {
    const months = [...this.#held].map(([month, { chargedMicro, byUser }]) => {
      return [month, chargedMicro, byUser.isWhole, [...byUser.amounts]];
    });
    const { POSITIVE_INFINITY, NEGATIVE_INFINITY } = Number;
    const known = this.#floor === NEGATIVE_INFINITY ? "all" : this.#floor;
    return { floor: known === POSITIVE_INFINITY ? "none" : known, months };
  }

  /** Null if it is none that we would have written. */
  static fromJson({ floor: known, months }: JsonObject): MonthlySums | null {
    const { POSITIVE_INFINITY, NEGATIVE_INFINITY } = Number;
    const floor =
      known === "all" ? NEGATIVE_INFINITY : known === "none" ? POSITIVE_INFINITY : known;
    if (typeof floor !== "number" || !Array.isArray(months)) return null;
    const held = new Map<Month, MonthSums>();
    for (const row of months) {
      const [month, chargedMicro, isWhole, users]: unknown[] = Array.isArray(row) ? row : [];
      if (typeof month !== "number" || !Number.isSafeInteger(month)) return null;
      const byUser = amountsBy(parseUserId, users);
      if (!isAmount(chargedMicro) || byUser === null) return null;
      const bySession = new AmountTally<SessionId>(LEDGER_MONTH_SESSIONS_MAX, new Map(), false);
      const userTally = new AmountTally(LEDGER_MONTH_USERS_MAX, byUser, isWhole === true);
      held.set(month, { chargedMicro, byUser: userTally, bySession });
    }
    return new MonthlySums(held, floor);
  }
}

/** What one reading of the journal says of a month. */
interface MonthReading {
  readonly month: Month;
  readonly sums: MonthSums;
  readonly latest: Month;
}

function noReading(month: Month): MonthReading {
  return { month, sums: noMonthSums(), latest: Number.NEGATIVE_INFINITY };
}

/** With one more entry of the journal. */
function readOn(reading: MonthReading, line: StatementLine): MonthReading {
  if (line.kind !== "charge" || line.amountMicro === 0) return reading;
  const month = monthOf(line.atMs);
  if (month === reading.month) countIn(reading.sums, line);
  return { ...reading, latest: Math.max(reading.latest, month) };
}

function countIn(sums: MonthSums, { userId, sessionId, amountMicro }: StatementLine) {
  sums.chargedMicro = addCounts(sums.chargedMicro, amountMicro);
  if (userId !== null) sums.byUser.add(userId, amountMicro);
  if (sessionId !== null) sums.bySession.add(sessionId, amountMicro);
}

/** Null if one of them is none. */
export function amountsBy<Id>(
  parse: (text: string) => Id | null,
  pairs: unknown,
): Map<Id, number> | null {
  if (!Array.isArray(pairs)) return null;
  const amounts = new Map<Id, number>();
  for (const pair of pairs) {
    const [name, amountMicro]: unknown[] = Array.isArray(pair) ? pair : [];
    const id = parse(String(name));
    if (id === null || !isAmount(amountMicro)) return null;
    amounts.set(id, amountMicro);
  }
  return amounts;
}

export function isAmount(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

/** A tenant's journal, and the sums of its entries so far. */
export interface SummedLedger {
  readonly store: Pick<SessionStore, "readJournal">;
  readonly tenantId: TenantId;
  readonly sums: Sums;
}

/** What was charged in a month: in all, to a user, and for a session. */
export interface MonthUse {
  readonly month: Month;
  readonly chargedMicro: number;
  readonly userMicro: number;
  readonly sessionMicro: number;
}

/** Whose share of a month is asked for. */
export interface MonthShare {
  readonly userId: UserId | null;
  readonly sessionId: SessionId | null;
}

/**
 * What was charged in a month. Where the sums in memory do not know, as of a month long ago to
 * which a clock was set back, the journal is read once, and the sums know it from then on.
 */
export async function monthUse(
  ledger: SummedLedger,
  month: Month,
  { userId, sessionId }: MonthShare,
): Promise<Result<MonthUse>> {
  const held = await monthSums(ledger, month);
  if (!held.ok) return held;
  const { chargedMicro, byUser, bySession } = held.value;
  const isOfUser = (line: StatementLine) => line.userId === userId;
  const ofUser = await amountOf(byUser, userId, () => chargedIn(ledger, month, isOfUser));
  if (!ofUser.ok) return ofUser;
  const ofSession = await amountOf(bySession, sessionId, (id) =>
    chargedIn(ledger, month, () => true, id),
  );
  if (!ofSession.ok) return ofSession;
  return ok({ month, chargedMicro, userMicro: ofUser.value, sessionMicro: ofSession.value });
}

async function amountOf<Name>(
  tally: AmountTally<Name>,
  name: Name | null,
  read: (name: Name) => Promise<Result<number>>,
): Promise<Result<number>> {
  const known = name === null ? 0 : tally.of(name);
  if (known !== null || name === null) return ok(known ?? 0);
  const amountMicro = await read(name);
  if (amountMicro.ok) tally.learn(name, amountMicro.value);
  return amountMicro;
}

async function monthSums(ledger: SummedLedger, month: Month): Promise<Result<MonthSums>> {
  const { months } = ledger.sums;
  const known = months.of(month);
  if (known !== null) return ok(known);
  let reading = noReading(month);
  const read = await readLedger(ledger, (line) => {
    reading = readOn(reading, line);
  });
  if (!read.ok) return read;
  months.learn(reading);
  return ok(reading.sums);
}

async function chargedIn(
  ledger: SummedLedger,
  month: Month,
  isMeant: (line: StatementLine) => boolean,
  sessionId?: SessionId,
): Promise<Result<number>> {
  let chargedMicro = 0;
  const count = (line: StatementLine) => {
    if (line.kind !== "charge" || monthOf(line.atMs) !== month || !isMeant(line)) return;
    chargedMicro = addCounts(chargedMicro, line.amountMicro);
  };
  const read = await readLedger(ledger, count, sessionId);
  return read.ok ? ok(chargedMicro) : read;
}

/** Reads the journal as far as the sums go, of one session if one is named. */
export async function readLedger(
  { store, tenantId, sums }: SummedLedger,
  visit: (line: StatementLine) => void,
  sessionId?: SessionId,
): Promise<Result<void>> {
  const whose = sessionId === undefined ? {} : { sessionId };
  for (let after = 0, more = true; more && after < sums.seq; ) {
    const query = { journal: "ledger", after, limit: PAGE_ROWS_MAX, ...whose } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return page;
    for (const row of page.value.rows) {
      const line = row.seq <= sums.seq ? readLine(row) : null;
      if (line !== null) visit(line);
    }
    after = page.value.rows.at(-1)?.seq ?? sums.seq;
    more = page.value.more;
  }
  return DONE;
}

import type { SessionId, TenantId, UserId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { type Month, monthOf } from "../../core/month.ts";
import { addCounts } from "../../core/price.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine, type StatementLine } from "./entry.ts";
import { type AmountTally, type MonthSums, noReading, readOn } from "./month-sums.ts";
import type { Sums } from "./sums.ts";

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

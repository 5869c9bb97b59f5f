import type { TenantId, UserId } from "../../core/id.ts";
import { LEDGER_USERS_MAX, PAGE_ROWS_MAX } from "../../core/limits.ts";
import { addCounts } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine } from "./entry.ts";
import type { Sums } from "./sums.ts";

/**
 * Sums in which everybody is counted who has a budget, whoever else was charged before them: from
 * then on their charges are followed. Where users have been left out for want of room, what these
 * have cost is read from the journal, up to where the sums are. They take the places of users
 * without a budget, so that no more are held.
 */
export async function withBudgeted(
  store: Pick<SessionStore, "readJournal">,
  tenantId: TenantId,
  sums: Sums,
  budgeted: ReadonlyMap<UserId, number>,
): Promise<Result<Sums>> {
  const missing = [...budgeted.keys()].filter((userId) => !sums.chargedByUser.has(userId));
  if (missing.length === 0) return ok(sums);
  const unknown = new Map(missing.map((userId) => [userId, 0]));
  // As long as there is room, whoever is not there was never charged.
  const isFull = sums.chargedByUser.size >= LEDGER_USERS_MAX;
  const read = isFull ? await chargesOf(store, tenantId, sums.seq, unknown) : ok(unknown);
  if (!read.ok) return read;
  const chargedByUser = new Map(sums.chargedByUser);
  const others = [...chargedByUser.keys()].filter((userId) => !budgeted.has(userId)).values();
  for (const [userId, chargedMicro] of read.value) {
    const other = chargedByUser.size < LEDGER_USERS_MAX ? undefined : others.next().value;
    if (other !== undefined) chargedByUser.delete(other);
    chargedByUser.set(userId, chargedMicro);
  }
  return ok({ ...sums, chargedByUser });
}

/** What these users were charged up to an entry, by one reading of the journal. */
async function chargesOf(
  store: Pick<SessionStore, "readJournal">,
  tenantId: TenantId,
  lastSeq: number,
  users: ReadonlyMap<UserId, number>,
): Promise<Result<ReadonlyMap<UserId, number>>> {
  const charged = new Map(users);
  for (let after = 0; after < lastSeq; ) {
    const query = { journal: "ledger", after, limit: PAGE_ROWS_MAX } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return page;
    for (const row of page.value.rows) {
      const line = row.seq <= lastSeq ? readLine(row) : null;
      const before = line?.userId ? charged.get(line.userId) : undefined;
      if (line?.kind !== "charge" || line.userId === null || before === undefined) continue;
      charged.set(line.userId, addCounts(before, line.amountMicro));
    }
    after = page.value.rows.at(-1)?.seq ?? lastSeq;
  }
  return ok(charged);
}

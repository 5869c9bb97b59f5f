import {
  parseSessionId,
  parseTurnId,
  parseUserId,
  type SessionId,
  type TenantId,
  type TurnId,
  type UserId,
} from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Account, emptyAccount, recordedEntry, sumOf } from "../../core/ledger.ts";
import {
  LEDGER_ASIDE_SESSIONS_MAX,
  LEDGER_OPEN_TURNS_MAX,
  LEDGER_USERS_MAX,
  PAGE_ROWS_MAX,
} from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { readLine, type StatementLine } from "./entry.ts";

/** What the entries of a tenant's ledger come to, up to one of them. */
export interface Sums {
  /** The last entry that is in it. */
  readonly seq: number;
  readonly account: Account;
  /** Whose the open reservations are. */
  readonly open: ReadonlyMap<TurnId, OpenTurn>;
  /** This and the next are written into by `withLine`: of so many a copy for each line is dear. */
  readonly chargedByUser: Map<UserId, number>;
  /** What was charged for questions beside a session; its log knows nothing of them. */
  readonly asidesBySession: Map<SessionId, number>;
}

interface OpenTurn {
  readonly sessionId: SessionId | null;
  readonly userId: UserId | null;
  readonly isAside: boolean;
}

export function noSums(): Sums {
  const account = emptyAccount("granted");
  const open = new Map();
  return { seq: 0, account, open, chargedByUser: new Map(), asidesBySession: new Map() };
}

/** With one more entry of the journal, which is believed. What was given is not used any more. */
export function withLine(sums: Sums, line: StatementLine): Sums {
  const account = recordedEntry(sums.account, line);
  charge(sums, line);
  chargeAside(sums, line);
  return { ...sums, seq: line.seq, account, open: opened(sums, account, line) };
}

/** A turn is here for as long as the account holds something for it. */
function opened({ open }: Sums, account: Account, line: StatementLine): Sums["open"] {
  const { turnId, sessionId, userId, isAside } = line;
  const isOpen = account.openByTurn.has(turnId);
  if (isOpen === open.has(turnId)) return open;
  const next = new Map(open);
  if (isOpen) next.set(turnId, { sessionId, userId, isAside });
  else next.delete(turnId);
  return next;
}

function charge({ chargedByUser }: Sums, { kind, userId, amountMicro }: StatementLine) {
  if (kind !== "charge" || userId === null || amountMicro === 0) return;
  const before = chargedByUser.get(userId);
  if (before === undefined && chargedByUser.size >= LEDGER_USERS_MAX) return;
  chargedByUser.set(userId, addCounts(before ?? 0, amountMicro));
}

/** The session that was asked least lately makes room. */
function chargeAside({ asidesBySession }: Sums, line: StatementLine) {
  const { kind, sessionId, amountMicro, isAside } = line;
  if (!isAside || kind !== "charge" || sessionId === null || amountMicro === 0) return;
  const before = asidesBySession.get(sessionId) ?? 0;
  asidesBySession.delete(sessionId);
  const [first] = asidesBySession.keys();
  const isFull = asidesBySession.size >= LEDGER_ASIDE_SESSIONS_MAX;
  if (first !== undefined && isFull) asidesBySession.delete(first);
  asidesBySession.set(sessionId, addCounts(before, amountMicro));
}

/** What a user has cost, and what is set aside for them. */
export function usedByUser(sums: Sums, userId: UserId): number {
  const held = openOf(sums, (turn) => turn.userId === userId);
  return addCounts(sums.chargedByUser.get(userId) ?? 0, held);
}

/** What was asked beside a session has cost, and what is set aside for such questions. */
export function usedByAsides(sums: Sums, sessionId: SessionId): number {
  const held = openOf(sums, (turn) => turn.isAside && turn.sessionId === sessionId);
  return addCounts(sums.asidesBySession.get(sessionId) ?? 0, held);
}

function openOf({ open, account }: Sums, isMeant: (turn: OpenTurn) => boolean): number {
  let held = 0;
  for (const [turnId, turn] of open) {
    if (isMeant(turn)) held = addCounts(held, account.openByTurn.get(turnId) ?? 0);
  }
  return held;
}

/** Written down, so that opening does not read the whole journal; null if there is too much. */
export function documentOf(sums: Sums): JsonObject | null {
  const { seq, account, open, chargedByUser, asidesBySession } = sums;
  if (open.size > LEDGER_OPEN_TURNS_MAX) return null;
  const { grantedMicro, chargedMicro, openByTurn } = account;
  const turns = [...open].map(([turnId, { sessionId, userId, isAside }]) => {
    return [turnId, openByTurn.get(turnId) ?? 0, sessionId, userId, isAside];
  });
  const users = [...chargedByUser];
  return { v: 1, seq, grantedMicro, chargedMicro, turns, users, asides: [...asidesBySession] };
}

/** Null if it is none that we would have written: then the journal is read from its beginning. */
export function readSums(value: JsonObject): Sums | null {
  const { v, seq, grantedMicro, chargedMicro, turns, users } = value;
  if (v !== 1 || !isAmount(seq) || !isAmount(grantedMicro) || !isAmount(chargedMicro)) return null;
  if (!Array.isArray(turns) || !Array.isArray(users)) return null;
  const openByTurn = new Map<TurnId, number>();
  const open = new Map<TurnId, OpenTurn>();
  for (const [turn, held, session, user, aside] of turns.filter(Array.isArray)) {
    const turnId = parseTurnId(String(turn));
    if (turnId === null || !isAmount(held)) return null;
    openByTurn.set(turnId, held);
    const sessionId = idOr(parseSessionId, session);
    open.set(turnId, { sessionId, userId: idOr(parseUserId, user), isAside: aside === true });
  }
  const chargedByUser = amountsBy(parseUserId, users);
  const asidesBySession = amountsBy(parseSessionId, value.asides ?? []);
  if (chargedByUser === null || asidesBySession === null) return null;
  const base = emptyAccount("granted");
  const openMicro = sumOf(openByTurn);
  const account = { ...base, grantedMicro, chargedMicro, openByTurn, openMicro };
  return { seq, account, open, chargedByUser, asidesBySession };
}

/** Null if one of them is none. */
function amountsBy<Id>(parse: (text: string) => Id | null, value: unknown): Map<Id, number> | null {
  const amounts = new Map<Id, number>();
  for (const [name, amount] of Array.isArray(value) ? value.filter(Array.isArray) : []) {
    const id = parse(String(name));
    if (id === null || !isAmount(amount)) return null;
    amounts.set(id, amount);
  }
  return amounts;
}

function idOr<Id>(parse: (text: string) => Id | null, value: unknown): Id | null {
  return typeof value === "string" ? parse(value) : null;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

/**
 * Sums that count every user with a budget, even if many others were charged before: from
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
  // Below the limit, a user that is not there was never charged.
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

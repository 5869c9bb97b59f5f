import type { SessionId, TurnId, UserId } from "../../core/id.ts";
import { parseSessionId, parseTurnId, parseUserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Account, emptyAccount, recordedEntry } from "../../core/ledger.ts";
import { LEDGER_OPEN_TURNS_MAX, LEDGER_USERS_MAX } from "../../core/limits.ts";
import { addCounts, isCount } from "../../core/price.ts";
import type { StatementLine } from "./entry.ts";

/** What the entries of a tenant's ledger come to, up to one of them. */
export interface Sums {
  /** The last entry that is in it. */
  readonly seq: number;
  readonly account: Account;
  /** Whose the open reservations are. */
  readonly open: ReadonlyMap<TurnId, OpenTurn>;
  readonly chargedByUser: ReadonlyMap<UserId, number>;
}

interface OpenTurn {
  readonly sessionId: SessionId | null;
  readonly userId: UserId | null;
}

export const NO_SUMS: Sums = {
  seq: 0,
  account: emptyAccount("granted"),
  open: new Map(),
  chargedByUser: new Map(),
};

/** With one more entry of the journal; null if no sum can hold it. */
export function withLine(sums: Sums, line: StatementLine): Sums | null {
  const account = recordedEntry(sums.account, line);
  if (account === null) return null;
  const { seq } = line;
  return { seq, account, open: opened(sums, account, line), chargedByUser: charged(sums, line) };
}

/** A turn is here for as long as the account holds something for it. */
function opened({ open }: Sums, account: Account, line: StatementLine): Sums["open"] {
  const { turnId, sessionId, userId } = line;
  const isOpen = account.openByTurn.has(turnId);
  if (isOpen === open.has(turnId)) return open;
  const next = new Map(open);
  if (isOpen) next.set(turnId, { sessionId, userId });
  else next.delete(turnId);
  return next;
}

function charged({ chargedByUser }: Sums, line: StatementLine): Sums["chargedByUser"] {
  const { kind, userId, amountMicro } = line;
  if (kind !== "charge" || userId === null || amountMicro === 0) return chargedByUser;
  const before = chargedByUser.get(userId);
  if (before === undefined && chargedByUser.size >= LEDGER_USERS_MAX) return chargedByUser;
  return new Map(chargedByUser).set(userId, addCounts(before ?? 0, amountMicro));
}

/** What a user has cost, and what is set aside for them. */
export function usedByUser({ open, account, chargedByUser }: Sums, userId: UserId): number {
  let used = chargedByUser.get(userId) ?? 0;
  for (const [turnId, turn] of open) {
    if (turn.userId === userId) used += account.openByTurn.get(turnId) ?? 0;
  }
  return used;
}

/** Written down, so that opening does not read the whole journal; null if there is too much. */
export function documentOf({ seq, account, open, chargedByUser }: Sums): JsonObject | null {
  if (open.size > LEDGER_OPEN_TURNS_MAX) return null;
  const { grantedMicro, chargedMicro, openByTurn } = account;
  const turns = [...open].map(([turnId, { sessionId, userId }]) => {
    return [turnId, openByTurn.get(turnId) ?? 0, sessionId, userId];
  });
  return { v: 1, seq, grantedMicro, chargedMicro, turns, users: [...chargedByUser] };
}

/** Null if it is none that we would have written: then the journal is read from its beginning. */
export function readSums(value: JsonObject): Sums | null {
  const { v, seq, grantedMicro, chargedMicro, turns, users } = value;
  if (v !== 1 || !isAmount(seq) || !isAmount(grantedMicro) || !isAmount(chargedMicro)) return null;
  if (!Array.isArray(turns) || !Array.isArray(users)) return null;
  const openByTurn = new Map<TurnId, number>();
  const open = new Map<TurnId, OpenTurn>();
  for (const [turn, held, session, user] of turns.filter(Array.isArray)) {
    const turnId = parseTurnId(String(turn));
    if (turnId === null || !isAmount(held)) return null;
    openByTurn.set(turnId, held);
    open.set(turnId, { sessionId: idOr(parseSessionId, session), userId: idOr(parseUserId, user) });
  }
  const chargedByUser = new Map<UserId, number>();
  for (const [user, charged] of users.filter(Array.isArray)) {
    const userId = parseUserId(String(user));
    if (userId === null || !isAmount(charged)) return null;
    chargedByUser.set(userId, charged);
  }
  const openMicro = [...openByTurn.values()].reduce((sum, held) => sum + held, 0);
  const base = emptyAccount("granted");
  const account = { ...base, grantedMicro, chargedMicro, openByTurn, openMicro };
  return { seq, account, open, chargedByUser };
}

function idOr<Id>(parse: (text: string) => Id | null, value: unknown): Id | null {
  return typeof value === "string" ? parse(value) : null;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && isCount(value);
}

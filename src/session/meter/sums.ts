import {
  parseSessionId,
  parseTurnId,
  parseUserId,
  type SessionId,
  type TenantId,
  type TurnId,
  type UserId,
} from "../../core/id.ts";
import { type JsonObject, objectAt } from "../../core/json.ts";
import { type Account, emptyAccount, recordedEntry, sumOf } from "../../core/ledger.ts";
import {
  LEDGER_ASIDE_SESSIONS_MAX,
  LEDGER_ENTRIES_UNSUMMED_MAX,
  LEDGER_OPEN_TURNS_MAX,
  LEDGER_USERS_MAX,
} from "../../core/limits.ts";
import { addCounts } from "../../core/price.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import type { StatementLine } from "./entry.ts";
import { amountsBy, isAmount, MonthlySums, readLedger, type SummedLedger } from "./month-sums.ts";

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
  /** What was charged in the newest months; written into as well. */
  readonly months: MonthlySums;
}

interface OpenTurn {
  readonly sessionId: SessionId | null;
  readonly userId: UserId | null;
  readonly isAside: boolean;
}

export function noSums(): Sums {
  const account = emptyAccount("granted");
  const open = new Map();
  const [chargedByUser, asidesBySession] = [new Map(), new Map()];
  return { seq: 0, account, open, chargedByUser, asidesBySession, months: new MonthlySums() };
}

/** With one more entry of the journal, which is believed. What was given is not used any more. */
export function withLine(sums: Sums, line: StatementLine): Sums {
  const account = recordedEntry(sums.account, line);
  charge(sums, line);
  chargeAside(sums, line);
  sums.months.count(line);
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
  return addCounts(sums.chargedByUser.get(userId) ?? 0, openOfUser(sums, userId));
}

export function openOfUser(sums: Sums, userId: UserId): number {
  return openOf(sums, (turn) => turn.userId === userId);
}

/** What is set aside for the turns of a session, and for what is asked beside them. */
export function openOfSession(sums: Sums, sessionId: SessionId): number {
  return openOf(sums, (turn) => turn.sessionId === sessionId);
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
  const [users, asides] = [[...chargedByUser], [...asidesBySession]];
  const months = sums.months.toJson();
  return { v: 2, seq, grantedMicro, chargedMicro, turns, users, asides, months };
}

/** Null if it is none that we would have written: then the journal is read from its beginning. */
export function readSums(value: JsonObject): Sums | null {
  const { seq, grantedMicro, chargedMicro, turns, users } = value;
  const months = monthsOf(value);
  if (months === null || !isAmount(seq)) return null;
  if (!isAmount(grantedMicro) || !isAmount(chargedMicro)) return null;
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
  return { seq, account, open, chargedByUser, asidesBySession, months };
}

/** Sums of version 1 have no months: these are read from the journal once they are needed. */
function monthsOf(value: JsonObject): MonthlySums | null {
  if (value.v === 1) return MonthlySums.unknown();
  const months = value.v === 2 ? objectAt(value, "months") : null;
  return months && MonthlySums.fromJson(months);
}

function idOr<Id>(parse: (text: string) => Id | null, value: unknown): Id | null {
  return typeof value === "string" ? parse(value) : null;
}

/**
 * Sums that count these users, even if many others were charged before: from
 * then on their charges are followed. Where users have been left out for want of room, what these
 * have cost is read from the journal, up to where the sums are. They take the places of users
 * without a budget, so that no more are held.
 */
export async function withCounted(
  ledger: SummedLedger,
  counted: ReadonlySet<UserId>,
): Promise<Result<Sums>> {
  const { sums } = ledger;
  const missing = [...counted].filter((userId) => !sums.chargedByUser.has(userId));
  if (missing.length === 0) return ok(sums);
  const unknown = new Map(missing.map((userId) => [userId, 0]));
  // Below the limit, a user that is not there was never charged.
  const isFull = sums.chargedByUser.size >= LEDGER_USERS_MAX;
  const read = isFull ? await chargesOf(ledger, unknown) : ok(unknown);
  if (!read.ok) return read;
  const chargedByUser = new Map(sums.chargedByUser);
  const others = [...chargedByUser.keys()].filter((userId) => !counted.has(userId)).values();
  for (const [userId, chargedMicro] of read.value) {
    const other = chargedByUser.size < LEDGER_USERS_MAX ? undefined : others.next().value;
    if (other !== undefined) chargedByUser.delete(other);
    chargedByUser.set(userId, chargedMicro);
  }
  return ok({ ...sums, chargedByUser });
}

/** What these users were charged up to an entry, by one reading of the journal. */
async function chargesOf(
  ledger: SummedLedger,
  users: ReadonlyMap<UserId, number>,
): Promise<Result<ReadonlyMap<UserId, number>>> {
  const charged = new Map(users);
  const read = await readLedger(ledger, ({ kind, userId, amountMicro }) => {
    const before = userId === null ? undefined : charged.get(userId);
    if (kind !== "charge" || userId === null || before === undefined) return;
    charged.set(userId, addCounts(before, amountMicro));
  });
  return read.ok ? ok(charged) : read;
}

/** The kind and key of the document that has the sums. */
const SUMS = { kind: "credits", key: "sums" } as const;

/** The sums of a ledger, written down now and then so that opening reads little of the journal. */
export class SumsCheckpoint {
  readonly #store: SessionStore;
  readonly #tenantId: TenantId;
  #seq = 0;
  #version = 0;

  constructor(store: SessionStore, tenantId: TenantId) {
    this.#store = store;
    this.#tenantId = tenantId;
  }

  /** Empty sums if there are none to be read: then the journal is read from its beginning. */
  async read(): Promise<Result<Sums>> {
    const found = await this.#store.readDocument(this.#tenantId, SUMS.kind, SUMS.key);
    if (!found.ok) return found;
    this.#version = found.value?.version ?? 0;
    const sums = (found.value && readSums(found.value.value)) ?? noSums();
    this.#seq = sums.seq;
    return ok(sums);
  }

  /** The journal had to be read for these sums, so that they are written with the next entries. */
  hurry() {
    this.#seq -= LEDGER_ENTRIES_UNSUMMED_MAX;
  }

  /** That it fails is no harm: the journal has it all, and is read from further back. */
  async write(sums: Sums): Promise<void> {
    if (sums.seq - this.#seq < LEDGER_ENTRIES_UNSUMMED_MAX) return;
    this.#seq = sums.seq;
    const value = documentOf(sums);
    if (value === null) return;
    const document = { ...SUMS, expectedVersion: this.#version, value };
    const written = await this.#store.writeDocument(this.#tenantId, document);
    if (written.ok) this.#version = written.value.version;
    else if (written.refusal.code === "document_conflict") await this.#rereadVersion();
  }

  /** Another server has written its sums; the next ones of ours go over them. */
  async #rereadVersion(): Promise<void> {
    const found = await this.#store.readDocument(this.#tenantId, SUMS.kind, SUMS.key);
    if (found.ok) this.#version = found.value?.version ?? 0;
  }
}

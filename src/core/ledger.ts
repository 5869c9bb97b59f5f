import { type Refusal, refusal } from "./error.ts";
import type { TurnId } from "./id.ts";
import { MICRO_CREDITS_MAX } from "./limits.ts";
import { type Month, monthName, renewalOf } from "./month.ts";
import { addCounts, isCount } from "./price.ts";
import type { CreditReservation } from "./turn.ts";

/**
 * One tenant's money, in whole micro-credits. The ledger is an append-only journal with the
 * unique key (turnId, kind, n); an account is what its entries add up to. For every turn,
 * reserved = charged + released (P9). A grant stands under its own id in place of a turn's, and so
 * does its revocation, which takes all of it back.
 *
 * The session's log is the commit point. A slice that the ledger took and no log ever showed, as
 * when its turn ended meanwhile, is what that turn still holds once it is settled. A sweep finds
 * and releases it, under the next number of `release`.
 */
export interface LedgerEntry {
  readonly kind: "grant" | "revoke" | "reserve" | "charge" | "release";
  readonly turnId: TurnId;
  /** Counts the entries of one kind in one turn. */
  readonly n: number;
  readonly amountMicro: number;
}

export interface Account {
  /** An unlimited tenant reserves without a balance; what it uses is counted all the same. */
  readonly limit: "granted" | "unlimited";
  readonly grantedMicro: number;
  readonly chargedMicro: number;
  /** What each unsettled turn still holds: reserved, and neither charged nor released. */
  readonly openByTurn: ReadonlyMap<TurnId, number>;
  readonly openMicro: number;
}

export type Posting =
  | { readonly kind: "posted"; readonly account: Account }
  | { readonly kind: "repeated" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export function emptyAccount(limit: Account["limit"]): Account {
  return { limit, grantedMicro: 0, chargedMicro: 0, openByTurn: new Map(), openMicro: 0 };
}

/**
 * What may still be reserved. Open reservations are spoken for. Without a limit it is as much as
 * can be held open and still be counted exactly.
 */
export function availableMicro(account: Account): number {
  if (account.limit === "unlimited") return MICRO_CREDITS_MAX - account.openMicro;
  return account.grantedMicro - account.chargedMicro - account.openMicro;
}

/**
 * Adds one entry, says that it is there already, or refuses it and changes nothing.
 *
 * `known` is the amount that the journal has under the entry's key. A `committed` entry repeats
 * what a session's log already says: it is not weighed against the balance, which may go below
 * zero, because the log is the commit point and the work has been done.
 */
export function postEntry(
  account: Account,
  entry: LedgerEntry,
  known: number | null,
  weight: "weighed" | "committed" = "weighed",
): Posting {
  const { kind, turnId, n, amountMicro } = entry;
  if (!isCount(amountMicro)) return invalidAmount;
  if (known === amountMicro) return { kind: "repeated" };
  if (known !== null) return refused(refusal("ledger_conflict", { turnId, kind, n }));
  if (kind === "grant") return grant(account, amountMicro);
  if (kind === "revoke") return revoke(account, entry);
  if (kind === "reserve") return reserve(account, entry, weight);
  return take(account, entry);
}

/**
 * The account with an entry that a journal has: it is believed. Where more was taken than the turn
 * held, the difference counts as reserved, so that nothing that was charged is ever forgotten. A
 * sum that would pass what is counted exactly stops there: an account can always be read.
 */
export function recordedEntry(account: Account, entry: LedgerEntry): Account {
  const { kind, turnId, amountMicro } = entry;
  if (kind === "grant") {
    return { ...account, grantedMicro: addCounts(account.grantedMicro, amountMicro) };
  }
  if (kind === "revoke") {
    return { ...account, grantedMicro: Math.max(0, account.grantedMicro - amountMicro) };
  }
  const held = account.openByTurn.get(turnId) ?? 0;
  if (kind === "reserve") return hold(account, turnId, addCounts(held, amountMicro));
  const rest = hold(account, turnId, Math.max(0, held - amountMicro));
  if (kind === "release") return rest;
  return { ...rest, chargedMicro: addCounts(rest.chargedMicro, amountMicro) };
}

function grant(account: Account, amountMicro: number): Posting {
  const leftMicro = MICRO_CREDITS_MAX - account.grantedMicro;
  if (amountMicro > leftMicro) {
    return refused(refusal("grants_too_large", { limit: MICRO_CREDITS_MAX, leftMicro }));
  }
  return posted({ ...account, grantedMicro: account.grantedMicro + amountMicro });
}

/**
 * Takes a grant back, spent or not: what was spent stays charged, so that the balance may go below
 * zero, and nothing is left to reserve until new grants have made up for it.
 */
function revoke(account: Account, { turnId, amountMicro }: LedgerEntry): Posting {
  if (amountMicro > account.grantedMicro)
    return refused(refusal("credit_grant_not_found", { id: turnId }));
  return posted({ ...account, grantedMicro: account.grantedMicro - amountMicro });
}

function reserve(account: Account, entry: LedgerEntry, weight: "weighed" | "committed"): Posting {
  const { amountMicro } = entry;
  const left = availableMicro(account);
  if (weight === "weighed" && amountMicro > left) return refused(tooPoor(amountMicro, left));
  if (amountMicro > MICRO_CREDITS_MAX - account.openMicro) return invalidAmount;
  const held = account.openByTurn.get(entry.turnId) ?? 0;
  return posted(hold(account, entry.turnId, held + amountMicro));
}

/** Takes from what the turn holds: a charge for good, a release to give it back. */
function take(account: Account, { kind, turnId, amountMicro }: LedgerEntry): Posting {
  const held = account.openByTurn.get(turnId) ?? 0;
  if (held < amountMicro) return refused(refusal("reservation_not_open", { turnId }));
  const chargedMicro = account.chargedMicro + (kind === "charge" ? amountMicro : 0);
  return posted({ ...hold(account, turnId, held - amountMicro), chargedMicro });
}

/** A turn that holds nothing is not open, and takes no memory. */
function hold(account: Account, turnId: TurnId, heldMicro: number): Account {
  const openByTurn = new Map(account.openByTurn);
  if (heldMicro === 0) openByTurn.delete(turnId);
  else openByTurn.set(turnId, heldMicro);
  const before = account.openByTurn.get(turnId) ?? 0;
  // A sum that was stopped says nothing of its parts, so it is not gone on from.
  const isExact = account.openMicro < MICRO_CREDITS_MAX;
  const openMicro = isExact ? account.openMicro - before + heldMicro : sumOf(openByTurn);
  return { ...account, openByTurn, openMicro: Math.min(openMicro, MICRO_CREDITS_MAX) };
}

/** All of them together, which stops where counting exactly does. */
export function sumOf(amounts: ReadonlyMap<unknown, number>): number {
  return [...amounts.values()].reduce(addCounts, 0);
}

/** No sum may grow past what a double counts exactly, or the next entry would be a guess. */
function posted(account: Account): Posting {
  const { grantedMicro, chargedMicro, openMicro } = account;
  const exact =
    Number.isSafeInteger(grantedMicro) && Number.isSafeInteger(chargedMicro + openMicro);
  return exact ? { kind: "posted", account } : invalidAmount;
}

function refused(why: Refusal): Posting {
  return { kind: "refused", refusal: why };
}

const invalidAmount = refused(refusal("invalid_amount", { limit: MICRO_CREDITS_MAX }));

/** Which limit left too little: the balance, or a budget. */
export type CreditScope = "balance" | "tenant" | "user" | "session";

/** How long a budget counts what is used of it: for ever, or within one calendar month (UTC). */
export const BUDGET_PERIODS = ["total", "month"] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** A limit by its name; a budget of a month is renewed when the next one begins. */
export interface CreditLimit {
  readonly scope: CreditScope;
  /** The month of a monthly budget. */
  readonly month?: Month;
}

/** Never less than zero, however far a balance is overdrawn. */
export function tooPoor(
  neededMicro: number,
  leftMicro: number,
  limit: CreditLimit = { scope: "balance" },
): Refusal {
  const availableMicro = Math.max(0, leftMicro);
  const details = { neededMicro, availableMicro, ...limitDetails(limit) };
  return refusal("insufficient_credits", { ...details, limitedBy: limitName(limit) });
}

/** Which limit it is and when it is renewed, for programs. */
export function limitDetails({ scope, month }: CreditLimit) {
  if (scope === "balance") return { scope };
  if (month === undefined) return { scope, period: "total" } as const;
  return { scope, period: "month", renewsAt: renewalOf(month) } as const;
}

/** The same for people. */
function limitName({ scope, month }: CreditLimit): string {
  if (scope === "balance") return "the balance of the tenant";
  if (month === undefined) return `the budget of the ${scope} in total`;
  const renewal = `which is renewed at ${renewalOf(month)}`;
  return `the budget of the ${scope} for ${monthName(month)}, ${renewal},`;
}

export interface Settlement {
  /** Cost above what was reserved is reserved first, so that P9 stays an equation. */
  readonly furtherMicro: number;
  readonly chargedMicro: number;
  readonly releasedMicro: number;
}

/**
 * Closes a reservation, the same for every way a turn can end: what was spent is charged, the
 * rest is released. Where the usage is unknown, all that was reserved is charged.
 */
export function settle(
  { reservedMicro, spentMicro }: CreditReservation,
  isUsageUnknown = false,
): Settlement {
  const chargedMicro = isUsageUnknown ? Math.max(reservedMicro, spentMicro) : spentMicro;
  return {
    furtherMicro: Math.max(0, chargedMicro - reservedMicro),
    chargedMicro,
    releasedMicro: Math.max(0, reservedMicro - chargedMicro),
  };
}

import { SHARE_TIMES_MAX } from "./limits.ts";

/** Who can have a share of a limit. */
export type HolderScope = "address" | "tenant" | "user";

/** What one of those who want more has already. */
interface Holding<Scope> {
  readonly scope: Scope;
  readonly held: number;
}

/**
 * How much one holder may have at most. `times_free`: so many times what it leaves free, a user
 * of what its tenant leaves; alone each can have most of it. `fixed`: the same, however many
 * others there are, for what comes in bursts and cannot be taken back.
 */
export type ShareCeiling<Scope extends HolderScope> =
  | { readonly kind: "times_free" }
  | { readonly kind: "fixed"; readonly most: Readonly<Record<Scope, number>> };

/** A request for more of a limit, and how that limit stands. */
export interface ShareRequest<Scope extends HolderScope> {
  readonly amount: number;
  /** What is left, and so what those who hold little may take. */
  readonly free: number;
  /** What of that those who hold more may take; the rest is kept. May be below zero. */
  readonly open: number;
  /** A holder with no more than this holds little: no ceiling binds it. */
  readonly little: number;
  readonly ceiling: ShareCeiling<Scope>;
  /** A tenant stands before its user. The operator is none of them: no share binds it. */
  readonly holders: readonly Holding<Scope>[];
}

/**
 * Whose share forbids a caller more of a limit, `server` if what all have together does; null if
 * none does (P10). One rule for all limits:
 * what is left bounds all, a ceiling each holder, and however many use up theirs, a part is kept
 * for those who hold little. It needs neither a list of the others nor their number, and tells
 * none about another (P8). The widest share that is used up is named: it has to shrink first.
 */
export function shareExceeded<Scope extends HolderScope>(
  request: ShareRequest<Scope>,
): Scope | "server" | null {
  const { amount, free, open, little } = request;
  if (amount > free) return "server";
  const more = ceilings(request).filter(({ held }) => held + amount > little);
  const over = more.find(({ held, most }) => held + amount > most);
  if (over !== undefined) return over.scope;
  return more.length > 0 && amount > open ? "server" : null;
}

/** The same for a limit that one kind of holder shares, with nothing kept. */
export function isShareUsedUp(held: number, free: number, amount = 1): boolean {
  const holders = [{ scope: "user", held }] as const;
  const all = { amount, free, open: free, little: 0, holders };
  return shareExceeded({ ...all, ceiling: { kind: "times_free" } }) !== null;
}

type Bounded<Scope> = Holding<Scope> & { readonly most: number };

function ceilings<Scope extends HolderScope>({
  open,
  ceiling,
  holders,
}: ShareRequest<Scope>): readonly Bounded<Scope>[] {
  if (ceiling.kind === "fixed") {
    return holders.map((one) => ({ ...one, most: ceiling.most[one.scope] }));
  }
  let left = open;
  return holders.map((one) => {
    const most = SHARE_TIMES_MAX * left;
    // With each piece the holder gets nearer to its ceiling, and that comes down to meet it.
    left = (most - one.held) / (SHARE_TIMES_MAX + 1);
    return { ...one, most: Math.ceil(most) };
  });
}

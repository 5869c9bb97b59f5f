import { type Refusal, refusal } from "../../core/error.ts";
import { type HolderScope, type ShareCeiling, shareExceeded } from "../../core/share.ts";
import type { Caller } from "./route.ts";

/** Who uses some of what all requests share. */
export interface ShareHolder {
  /** Null where the address says nothing about who it is. */
  readonly address: string | null;
  /** Null before the caller is known. */
  readonly caller: Pick<Caller, "tenantId" | "userId"> | null;
  /** The operator has no share: all that is left is for the operator. */
  readonly isOperator: boolean;
}

export interface SharedCapacity {
  /** As an error names it. */
  readonly resource: "memory for bodies" | "connections" | "event streams";
  readonly total: number;
  /** How much of it only the operator gets. */
  readonly reserved: number;
  /** Which part of the rest a tenant or an address has at most; a user has half of that. */
  readonly share: number;
  /** Which part of the rest is kept for those who hold no more than `little`. */
  readonly kept: number;
  readonly little: number;
}

interface Share {
  readonly scope: HolderScope;
  readonly key: string;
}

const ALL = "";

/**
 * Counts what addresses, tenants and users hold of one capacity, and gives none of them more than
 * its share (P10). `core/share.ts` has the rule.
 */
export class FairShares {
  readonly #capacity: SharedCapacity;
  readonly #ceiling: ShareCeiling<HolderScope>;
  readonly #held = new Map<string, number>();

  constructor(capacity: SharedCapacity) {
    this.#capacity = capacity;
    const { total, reserved, share } = capacity;
    const most = share * (total - reserved);
    this.#ceiling = { kind: "fixed", most: { address: most, tenant: most, user: most / 2 } };
  }

  /** All that is held. */
  get held(): number {
    return this.#heldBy(ALL);
  }

  /** How many addresses, tenants and users hold something. */
  get holderCount(): number {
    return this.#held.size - (this.#held.has(ALL) ? 1 : 0);
  }

  /**
   * Takes the amount, or says why not. Amounts that were taken by force are counted too. Where it
   * is crowded, only those who hold little get more.
   */
  take(holder: ShareHolder, amount: number, isCrowded = false): Refusal | null {
    const refused = this.#excess(holder, amount, isCrowded);
    if (refused === null) this.force(holder, amount);
    return refused;
  }

  /** Takes the amount in any case. */
  force(holder: ShareHolder, amount: number) {
    for (const key of keysOf(holder)) this.#held.set(key, this.#heldBy(key) + amount);
  }

  release(holder: ShareHolder, amount: number) {
    for (const key of keysOf(holder)) {
      const left = this.#heldBy(key) - amount;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    }
  }

  #excess(holder: ShareHolder, amount: number, isCrowded: boolean): Refusal | null {
    const { total, reserved, kept, little, resource } = this.#capacity;
    const most = holder.isOperator ? total : total - reserved;
    const shares = holder.isOperator ? [] : sharesOf(holder);
    const scope = shareExceeded({
      amount,
      free: most - this.held,
      open: isCrowded ? 0 : most * (1 - kept) - this.held,
      little,
      ceiling: this.#ceiling,
      holders: shares.map(({ scope, key }) => ({ scope, held: this.#heldBy(key) })),
    });
    if (scope === null) return null;
    return scope === "server"
      ? refusal("server_busy")
      : refusal("share_exceeded", { scope, resource });
  }

  #heldBy(key: string): number {
    return this.#held.get(key) ?? 0;
  }
}

function sharesOf({ address, caller }: ShareHolder): readonly Share[] {
  const byAddress = address === null ? [] : [shareOf("address", address)];
  if (caller === null) return byAddress;
  const { tenantId, userId } = caller;
  const byUser = userId === null ? [] : [shareOf("user", JSON.stringify([tenantId, userId]))];
  return [shareOf("tenant", tenantId), ...byUser, ...byAddress];
}

function shareOf(scope: HolderScope, name: string): Share {
  return { scope, key: `${scope} ${name}` };
}

function keysOf(holder: ShareHolder): readonly string[] {
  return [ALL, ...sharesOf(holder).map(({ key }) => key)];
}

import { type Refusal, refusal } from "../../core/error.ts";
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

type Scope = "address" | "tenant" | "user";

interface Share {
  readonly scope: Scope;
  readonly key: string;
}

const ALL = "";

/**
 * Shares one capacity between addresses, tenants and users (P10). None of them gets more than its
 * share. However many use theirs up, a part is kept for those who hold little, so that a quiet
 * tenant goes on beside several busy ones.
 */
export class FairShares {
  readonly #capacity: SharedCapacity;
  readonly #held = new Map<string, number>();

  constructor(capacity: SharedCapacity) {
    this.#capacity = capacity;
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
    const { total, reserved, share, kept, little, resource } = this.#capacity;
    const most = holder.isOperator ? total : total - reserved;
    const held = this.held + amount;
    if (held > most) return refusal("server_busy");
    if (holder.isOperator) return null;
    for (const { scope, key } of sharesOf(holder)) {
      const own = this.#heldBy(key) + amount;
      if (own <= little) continue;
      const shareMax = most * (scope === "user" ? share / 2 : share);
      if (own > shareMax) return refusal("share_exceeded", { scope, resource });
      if (isCrowded || held > most * (1 - kept)) return refusal("server_busy");
    }
    return null;
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
  return [...byUser, shareOf("tenant", tenantId), ...byAddress];
}

function shareOf(scope: Scope, name: string): Share {
  return { scope, key: `${scope} ${name}` };
}

function keysOf(holder: ShareHolder): readonly string[] {
  return [ALL, ...sharesOf(holder).map(({ key }) => key)];
}

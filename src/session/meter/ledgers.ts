import type { TenantId } from "../../core/id.ts";
import type { Account } from "../../core/ledger.ts";
import { LEDGERS_HELD_MAX } from "../../core/limits.ts";
import type { SessionStore } from "../../store/store.ts";
import { TenantLedger } from "./tenant-ledger.ts";

export interface LedgerOptions {
  readonly store: SessionStore;
  /** The limit of a tenant that has set none; null if that is not known here. */
  usualLimit(tenantId: TenantId): Account["limit"] | null;
  nowMs(): number;
}

/** The ledgers of all tenants, as many as may be held at once. */
export class Ledgers {
  readonly #options: LedgerOptions;
  /** The one that was used last is at the end. */
  readonly #held = new Map<TenantId, TenantLedger>();

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  of(tenantId: TenantId): TenantLedger {
    const known = this.#held.get(tenantId);
    const { store, nowMs } = this.#options;
    const limit = this.#options.usualLimit(tenantId);
    const ledger = known ?? new TenantLedger(store, tenantId, limit, nowMs);
    this.#held.delete(tenantId);
    this.#held.set(tenantId, ledger);
    if (known === undefined) this.#makeRoom();
    return ledger;
  }

  /** Only if it is held already. */
  held(tenantId: TenantId): TenantLedger | null {
    return this.#held.get(tenantId) ?? null;
  }

  tenants(): readonly TenantId[] {
    return [...this.#held.keys()];
  }

  delete(tenantId: TenantId) {
    this.#held.delete(tenantId);
  }

  /** One that is in use stays; all that another held can be read again. */
  #makeRoom() {
    for (const [tenantId, ledger] of this.#held) {
      if (this.#held.size <= LEDGERS_HELD_MAX) return;
      if (ledger.isIdle && ledger.allowance !== null) this.#held.delete(tenantId);
    }
  }
}

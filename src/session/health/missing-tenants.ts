import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";

/** What is noted of tenants outside of the store. */
export interface TenantNotes {
  tenants(): Promise<Result<readonly TenantId[]>>;
  /** The store that has the tenant; null if none has noted it. */
  findTenant(tenantId: TenantId): Promise<Result<string | null>>;
  noteTenant(tenantId: TenantId, storeId: string): Promise<Result<void>>;
  forgetTenantItself(tenantId: TenantId): Promise<Result<void>>;
}

type NotedStore = Pick<SessionStore, "contract" | "tenants">;

/**
 * The tenants that are noted as this store's, and that it does not have: their databases were lost
 * while no server was running. With them went members, tokens and settings, also where there was
 * no session.
 */
export async function missingTenants(
  store: NotedStore,
  notes: TenantNotes,
): Promise<Result<readonly TenantId[]>> {
  const [noted, there] = [await notes.tenants(), await store.tenants()];
  if (!noted.ok) return noted;
  if (!there.ok) return there;
  const absent = noted.value.filter((tenantId) => !there.value.includes(tenantId));
  const missing: TenantId[] = [];
  for (const tenantId of absent) {
    if (await isNoted(store, notes, tenantId)) missing.push(tenantId);
  }
  return ok(missing);
}

/** Whether the tenant is noted as this store's. */
export async function isNoted(
  { contract }: NotedStore,
  notes: TenantNotes,
  tenantId: TenantId,
): Promise<boolean> {
  const storeId = await notes.findTenant(tenantId);
  return storeId.ok && storeId.value === contract.storeId;
}

/** Notes the tenants that a store has, for the next start. */
export class NotedTenants {
  readonly #store: NotedStore;
  readonly #notes: TenantNotes;
  #known: ReadonlySet<TenantId> = new Set();

  constructor(store: NotedStore, notes: TenantNotes) {
    this.#store = store;
    this.#notes = notes;
  }

  /** A note that cannot be written is tried again at the next look. */
  async update(): Promise<void> {
    const there = await this.#store.tenants();
    if (!there.ok) return;
    const fresh = there.value.filter((tenantId) => !this.#known.has(tenantId));
    const failed = new Set<TenantId>();
    for (const tenantId of fresh) {
      const noted = await this.#notes.noteTenant(tenantId, this.#store.contract.storeId);
      if (!noted.ok) failed.add(tenantId);
    }
    this.#known = new Set(there.value.filter((tenantId) => !failed.has(tenantId)));
    if (fresh.length > 0) await this.#withdraw(fresh);
  }

  /** A tenant that was deleted just then has left no other note, and must not be missed. */
  async #withdraw(fresh: readonly TenantId[]): Promise<void> {
    const there = await this.#store.tenants();
    if (!there.ok) return;
    for (const tenantId of fresh) {
      if (!there.value.includes(tenantId)) await this.#notes.forgetTenantItself(tenantId);
    }
  }
}

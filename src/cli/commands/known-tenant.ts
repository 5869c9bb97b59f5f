import type { TenantId } from "../../core/id.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";

/** A mistyped tenant must not look like an empty one. */
export async function knownTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  const all = await store.tenants();
  if (!all.ok) return all;
  if (all.value.includes(tenantId)) return DONE;
  return fail("invalid_request", { reason: `There is no tenant "${tenantId}" here.` });
}

/** The same for whoever only looks: `local` is there for everybody, with something in it or not. */
export async function readableTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  return tenantId === "local" ? DONE : knownTenant(store, tenantId);
}

import { sentenceOf } from "../../core/error.ts";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";
import { wrong } from "./command-frame.ts";

/** The tenant that a command line names, whether it is there or not. */
export function namedTenant(name: string): Result<TenantId> {
  const tenantId = parseTenantId(name);
  return tenantId === null
    ? wrong("a tenant's name is of letters, digits and . _ : -")
    : ok(tenantId);
}

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

/** The same for whoever gives it something to spend: a mistyped name would make a tenant of it. */
export async function spendingTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  const known = await readableTenant(store, tenantId);
  if (known.ok || known.refusal.code !== "invalid_request") return known;
  const when = "A tenant is there as soon as somebody belongs to it";
  const token = `fermata tokens create --tenant ${tenantId} --user NAME --role owner`;
  const member = `fermata members set NAME owner --tenant ${tenantId}, with the same --data`;
  const reason = `${sentenceOf(known.refusal)} ${when}: ${token}, or ${member}`;
  return fail("invalid_request", { reason });
}

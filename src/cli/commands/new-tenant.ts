import type { TenantId } from "../../core/id.ts";
import { ok, type Result } from "../../core/result.ts";
import { Members } from "../../server/identity/members.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { SessionStore } from "../../store/store.ts";
import type { Outcome } from "./command-frame.ts";
import { readableTenant } from "./known-tenant.ts";

/**
 * Takes somebody into a tenant, which makes it if nobody was in it before: a mistyped name shows
 * by that. And a tenant that nobody owns is told of as long as it is one.
 */
export async function takingIn(
  store: SessionStore,
  tenantId: TenantId,
  take: () => Promise<Result<Outcome>>,
): Promise<Result<Outcome>> {
  const before = await readableTenant(store, tenantId);
  if (!before.ok && before.refusal.code !== "invalid_request") return before;
  const taken = await take();
  if (!taken.ok) return taken;
  const made = before.ok ? [] : [`${tenantId} is a new tenant.`];
  const ownerless = (await hasOwner(store, tenantId)) ? [] : [ownerlessNotice(tenantId)];
  const notices = [...(taken.value.notices ?? []), ...made, ...ownerless];
  return ok({ ...taken.value, notices });
}

/** What cannot be read is not complained of. */
async function hasOwner(store: SessionStore, tenantId: TenantId): Promise<boolean> {
  const all = await new Members(store, SYSTEM_CLOCK).list(tenantId);
  return !all.ok || all.value.some(({ role }) => role === "owner");
}

function ownerlessNotice(tenantId: TenantId): string {
  const how = `fermata members set NAME owner --tenant ${tenantId}, with the same --data`;
  return `${tenantId} has no owner among its members: ${how}`;
}

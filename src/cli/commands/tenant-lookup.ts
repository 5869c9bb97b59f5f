import { sentenceOf } from "../../core/error.ts";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { Members } from "../../server/identity/members.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { SessionStore } from "../../store/store.ts";
import { type Outcome, wrong } from "./data-command.ts";

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

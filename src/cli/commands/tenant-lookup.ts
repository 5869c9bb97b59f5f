import { sentenceOf } from "../../core/error.ts";
import { parseTenantId, type TenantId } from "../../core/id.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { SYSTEM_CLOCK } from "../../platform/clock.ts";
import { Members } from "../../server/identity/members.ts";
import type { SessionStore } from "../../store/store.ts";
import { type CommandOutput, wrong } from "./data-command.ts";

/** Parses the name of a tenant, which may not exist. */
export function readTenantName(name: string): Result<TenantId> {
  const tenantId = parseTenantId(name);
  return tenantId === null
    ? wrong("the name of a tenant has only letters, digits and . _ : -")
    : ok(tenantId);
}

/** Refuses a tenant that does not exist: a mistyped name must not look like an empty one. */
export async function requireTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  const all = await store.tenants();
  if (!all.ok) return all;
  if (all.value.includes(tenantId)) return DONE;
  return fail("invalid_request", { reason: `There is no tenant "${tenantId}" here.` });
}

/** For commands that only read: `local` always exists. */
export async function requireReadableTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  return tenantId === "local" ? DONE : requireTenant(store, tenantId);
}

/** For commands that change credits: a mistyped name must not make a tenant. */
export async function requireSpendingTenant(
  store: Pick<SessionStore, "tenants">,
  tenantId: TenantId,
): Promise<Result<void>> {
  const known = await requireReadableTenant(store, tenantId);
  if (known.ok || known.refusal.code !== "invalid_request") return known;
  const token = `fermata tokens create --tenant ${tenantId} --user NAME --role owner`;
  const member = `fermata members set NAME owner --tenant ${tenantId}, with the same --data`;
  const how = `A tenant exists when it has a member: ${token}, or ${member}`;
  return fail("invalid_request", { reason: `${sentenceOf(known.refusal)} ${how}` });
}

/**
 * Runs a command that adds a member, which makes the tenant if it is new. Notices then tell about
 * the new tenant, in case the name was mistyped, and about a tenant without an owner.
 */
export async function addingMember(
  store: SessionStore,
  tenantId: TenantId,
  add: () => Promise<Result<CommandOutput>>,
): Promise<Result<CommandOutput>> {
  const before = await requireReadableTenant(store, tenantId);
  if (!before.ok && before.refusal.code !== "invalid_request") return before;
  const added = await add();
  if (!added.ok) return added;
  const notices = [...(added.value.notices ?? [])];
  if (!before.ok) notices.push(`${tenantId} is a new tenant.`, ...(await rootNotices(store)));
  if (!(await mayHaveOwner(store, tenantId))) {
    const how = `fermata members set NAME owner --tenant ${tenantId}, with the same --data`;
    notices.push(`${tenantId} has no owner among its members: ${how}`);
  }
  return ok({ ...added.value, notices });
}

/** From the second tenant on the server does not start without a root for workspaces. */
async function rootNotices(store: SessionStore): Promise<readonly string[]> {
  const all = await store.tenants();
  if (!all.ok || all.value.length < 2) return [];
  const how = "start the server with --workspace-root DIR, below which tenants add workspaces";
  return [`There are ${all.value.length} tenants now: ${how}; it does not start without.`];
}

/** True also if the members cannot be read. */
async function mayHaveOwner(store: SessionStore, tenantId: TenantId): Promise<boolean> {
  const all = await new Members(store, SYSTEM_CLOCK).list(tenantId);
  return !all.ok || all.value.some(({ role }) => role === "owner");
}

import { z } from "zod";
import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import { ROLES, type Role } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";

/** Where the members of a tenant are: one document for all of them. */
export const ROSTER = { kind: "members", key: "all" } as const;

const roster = z.object({
  members: z.array(z.object({ userId: z.string(), role: z.enum(ROLES) })),
});

/** The roles of a tenant's members. An unreadable list is refused, never taken for an empty one. */
export async function readRoster(
  store: Pick<SessionStore, "readDocument">,
  tenantId: TenantId,
): Promise<Result<ReadonlyMap<UserId, Role>>> {
  const { kind, key } = ROSTER;
  const found = await store.readDocument(tenantId, kind, key);
  if (!found.ok) return found;
  if (found.value === null) return ok(new Map());
  const read = roster.safeParse(found.value.value);
  if (!read.success) return fail("session_corrupt", { reason: `document ${kind}/${key}` });
  const roles = new Map<UserId, Role>();
  for (const { userId, role } of read.data.members) {
    const id = parseUserId(userId);
    if (id !== null) roles.set(id, role);
  }
  return ok(roles);
}

import { z } from "zod";
import { parseUserId, type TenantId, type UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { ROLES, type Role } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { SessionStore } from "../../store/store.ts";

/** Where the members of a tenant are: one document for all of them. */
export const ROSTER = { kind: "members", key: "all" } as const;

const userId = z.custom<UserId>(
  (value) => typeof value === "string" && parseUserId(value) !== null,
);

const member = z.object({
  userId,
  role: z.enum(ROLES),
  /** New for each membership, so that tokens of an earlier membership stay invalid. */
  membership: z.string(),
  addedAtMs: z.number(),
});

const roster = z.object({ members: z.array(member) });

/** A user of a tenant and their role. */
export type Member = z.output<typeof member>;

/** The stored members. An unreadable list is refused, never taken for an empty one. */
export function membersIn(value: JsonObject | null): Result<readonly Member[]> {
  if (value === null) return ok([]);
  const read = roster.safeParse(value);
  if (read.success) return ok(read.data.members);
  return fail("session_corrupt", { reason: `document ${ROSTER.kind}/${ROSTER.key}` });
}

export async function readMembers(
  store: Pick<SessionStore, "readDocument">,
  tenantId: TenantId,
): Promise<Result<readonly Member[]>> {
  const found = await store.readDocument(tenantId, ROSTER.kind, ROSTER.key);
  return found.ok ? membersIn(found.value?.value ?? null) : found;
}

/** The roles of a tenant's members. */
export async function readRoster(
  store: Pick<SessionStore, "readDocument">,
  tenantId: TenantId,
): Promise<Result<ReadonlyMap<UserId, Role>>> {
  const members = await readMembers(store, tenantId);
  if (!members.ok) return members;
  return ok(new Map(members.value.map((one) => [one.userId, one.role])));
}

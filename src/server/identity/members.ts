import { randomUUID } from "node:crypto";
import type { TenantId, UserId } from "../../core/id.ts";
import { MEMBERS_MAX } from "../../core/limits.ts";
import { isAtLeast, type Role } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import {
  changeEntry,
  type Member,
  membersIn,
  ROSTER,
  readMembers,
  type Steward,
} from "../../session/index.ts";
import { changeDocument, type TenantStore } from "./tenant-document.ts";

/** Who sets a role, with their own role. */
export interface Granting {
  readonly steward: Steward;
  readonly role: Role;
}

const { kind: KIND, key: KEY } = ROSTER;

/**
 * The members of a tenant. One document holds all of them, so that concurrent changes by several
 * processes cannot leave a tenant without an owner.
 */
export class Members {
  readonly #store: TenantStore;
  readonly #clock: Pick<Clock, "nowMs">;

  constructor(store: TenantStore, clock: Pick<Clock, "nowMs">) {
    this.#store = store;
    this.#clock = clock;
  }

  list(tenantId: TenantId): Promise<Result<readonly Member[]>> {
    return readMembers(this.#store, tenantId);
  }

  async find(tenantId: TenantId, userId: UserId): Promise<Result<Member | null>> {
    const members = await this.list(tenantId);
    if (!members.ok) return members;
    return ok(members.value.find((one) => one.userId === userId) ?? null);
  }

  /** Adds a member or changes a role. Callers cannot give or take more than their own role has. */
  async put(tenantId: TenantId, userId: UserId, role: Role, by: Granting): Promise<Result<Member>> {
    const atMs = this.#clock.nowMs();
    const fresh = { userId, role, membership: randomUUID(), addedAtMs: atMs };
    const address = { tenantId, kind: KIND, key: KEY };
    return changeDocument(this.#store, address, (before) => {
      const members = membersIn(before);
      if (!members.ok) return members;
      const known = members.value.find((one) => one.userId === userId);
      const others = members.value.filter((one) => one !== known);
      if (!isAtLeast(by.role, role) || !isAtLeast(by.role, known?.role ?? role)) {
        return fail("role_required", { roles: "owners" });
      }
      if (role !== "owner" && isLastOwner(known, others)) return fail("last_owner", { userId });
      if (others.length >= MEMBERS_MAX) {
        return fail("member_limit_exceeded", { limit: MEMBERS_MAX });
      }
      const outcome = known === undefined ? fresh : { ...known, role };
      const details = { userId, role, ...(known && { from: known.role }) };
      const entry = changeEntry({ act: "member_set", by: by.steward, details, atMs });
      return ok({ value: { members: [...others, outcome] }, entry, outcome });
    });
  }

  /** Adds a member by an invitation; one who is a member already is refused. */
  add(tenantId: TenantId, userId: UserId, role: Role, steward: Steward): Promise<Result<Member>> {
    const atMs = this.#clock.nowMs();
    const outcome = { userId, role, membership: randomUUID(), addedAtMs: atMs };
    return changeDocument(this.#store, { tenantId, kind: KIND, key: KEY }, (before) => {
      const members = membersIn(before);
      if (!members.ok) return members;
      if (members.value.some((one) => one.userId === userId)) {
        return fail("member_exists", { userId });
      }
      if (members.value.length >= MEMBERS_MAX) {
        return fail("member_limit_exceeded", { limit: MEMBERS_MAX });
      }
      const entry = changeEntry({
        act: "member_set",
        by: steward,
        details: { userId, role },
        atMs,
      });
      return ok({ value: { members: [...members.value, outcome] }, entry, outcome });
    });
  }

  async remove(tenantId: TenantId, userId: UserId, steward: Steward): Promise<Result<void>> {
    const atMs = this.#clock.nowMs();
    const address = { tenantId, kind: KIND, key: KEY };
    return changeDocument(this.#store, address, (before) => {
      const members = membersIn(before);
      if (!members.ok) return members;
      const known = members.value.find((one) => one.userId === userId);
      if (known === undefined) return fail("member_not_found", { userId });
      const others = members.value.filter((one) => one !== known);
      if (isLastOwner(known, others)) return fail("last_owner", { userId });
      const details = { userId, from: known.role };
      const entry = changeEntry({ act: "member_removed", by: steward, details, atMs });
      return ok({ value: { members: others }, entry, outcome: undefined });
    });
  }
}

function isLastOwner(known: Member | undefined, others: readonly Member[]): boolean {
  return known?.role === "owner" && !others.some(({ role }) => role === "owner");
}

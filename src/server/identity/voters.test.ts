import { describe, expect, it } from "vitest";
import { VOTERS_TENANTS_MAX } from "../../core/limits.ts";
import type { Role } from "../../core/permission.ts";
import type { Member } from "../../session/index.ts";
import { ACME, tenant, user } from "./identity.fixture.ts";
import { Voters } from "./token-authenticator.ts";

function watched() {
  const gone: string[] = [];
  const voters = new Voters({
    lostVote: async (tenantId, userId) => void gone.push(`${tenantId} ${userId}`),
    lostOwnership: async (tenantId, userId) => void gone.push(`${tenantId} owner ${userId}`),
  });
  return { gone, voters };
}

function members(roles: Readonly<Record<string, Role>>): readonly Member[] {
  return Object.entries(roles).map(([name, role]) => {
    return { userId: user(name), role, membership: "m", addedAtMs: 0 };
  });
}

const BOTH = members({ ada: "owner", ben: "member" });

describe("the voters of a tenant", () => {
  it.each<[string, Readonly<Record<string, Role>>, readonly string[]]>([
    ["nobody, if they are the same", { ben: "member", ada: "owner" }, []],
    ["nobody, if there are more", { ada: "owner", ben: "member", cleo: "member" }, []],
    ["nobody, if they have higher roles", { ada: "owner", ben: "admin" }, []],
    ["who is an owner no more", { ada: "member", ben: "owner" }, ["acme owner ada"]],
    ["who is not among the members", { ada: "owner" }, ["acme ben"]],
    ["who only looks on", { ada: "owner", ben: "viewer" }, ["acme ben"]],
    ["who was replaced", { ada: "owner", cleo: "member" }, ["acme ben"]],
    ["all, if there are none", {}, ["acme ada", "acme ben"]],
  ])("miss %s", async (_what, now, missed) => {
    const { gone, voters } = watched();
    expect(voters.update(ACME, BOTH)).toBeNull();
    const missing = voters.update(ACME, members(now));
    expect(missing === null).toBe(missed.length === 0);
    await missing;
    expect(gone).toEqual(missed);
    expect(voters.update(ACME, members(now))).toBeNull();
  });

  it("do not miss those of another tenant, nor who never was one of them (P8)", async () => {
    const { gone, voters } = watched();
    await voters.update(ACME, BOTH);
    await voters.update(tenant("other"), members({ ada: "owner" }));
    expect(voters.update(ACME, BOTH)).toBeNull();
    expect(gone).toEqual([]);
  });

  it("miss whoever is named and is not among them, also a second time", async () => {
    const { gone, voters } = watched();
    await voters.update(ACME, BOTH);
    await voters.update(ACME, members({ ada: "owner" }), user("ben"));
    await voters.update(ACME, members({ ada: "owner" }), user("ben"));
    await voters.update(ACME, members({ ada: "owner" }), user("ada"));
    expect(gone).toEqual(["acme ben", "acme ben"]);
  });

  it("are remembered of those tenants that were seen last, changed or not (P10)", async () => {
    const { gone, voters } = watched();
    await voters.update(tenant("first"), BOTH);
    for (let n = 0; n < VOTERS_TENANTS_MAX - 1; n += 1) await voters.update(tenant(`t${n}`), BOTH);
    expect(voters.update(tenant("first"), BOTH)).toBeNull();
    await voters.update(tenant("one-more"), BOTH);
    await voters.update(tenant("t0"), members({ ada: "owner" }));
    await voters.update(tenant("first"), members({ ada: "owner" }));
    expect(gone).toEqual(["first ben"]);
  });

  it("are remembered of so many tenants, and no more (P10)", async () => {
    const { gone, voters } = watched();
    await voters.update(tenant("first"), BOTH);
    for (let n = 0; n < VOTERS_TENANTS_MAX; n += 1) await voters.update(tenant(`t${n}`), BOTH);
    await voters.update(tenant("first"), members({ ada: "owner" }));
    await voters.update(tenant(`t${VOTERS_TENANTS_MAX - 1}`), members({ ada: "owner" }));
    expect(gone).toEqual([`t${VOTERS_TENANTS_MAX - 1} ben`]);
  });
});

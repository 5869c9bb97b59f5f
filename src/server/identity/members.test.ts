import { describe, expect, it } from "vitest";
import { MEMBERS_MAX } from "../../core/limits.ts";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { value } from "../../store/kit/expect.ts";
import { ACME, BY_OWNER, IdentityWorld, OPERATOR, tenant, user } from "./identity.fixture.ts";
import { Members } from "./members.ts";

const BY_ADMIN = { steward: OPERATOR, role: "admin" } as const;

const rolesIn = async ({ members }: IdentityWorld) => {
  const all = await value(members.list(ACME));
  return Object.fromEntries(all.map(({ userId, role }) => [userId, role]));
};

describe("the members of a tenant", () => {
  it("are taken in, changed, and removed, and stay who they are meanwhile", async () => {
    const world = await IdentityWorld.open();
    const ada = await world.member("ada", "owner");
    await world.member("bob", "viewer");
    const bob = await world.member("bob", "member");
    expect(await rolesIn(world)).toEqual({ ada: "owner", bob: "member" });
    expect(await value(world.members.find(ACME, user("ada")))).toEqual(ada);
    await value(world.members.remove(ACME, user("bob"), OPERATOR));
    expect(await rolesIn(world)).toEqual({ ada: "owner" });
    const again = await world.member("bob", "member");
    expect(again.membership).not.toBe(bob.membership);
  });

  it("P8: are one tenant's only", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    expect(await value(world.members.list(tenant("other")))).toEqual([]);
  });

  it("always have an owner, once they have one", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    const refused = { ok: false, refusal: { code: "last_owner", details: { userId: "ada" } } };
    const ada = user("ada");
    expect(await world.members.remove(ACME, ada, OPERATOR)).toEqual(refused);
    expect(await world.members.put(ACME, ada, "admin", BY_OWNER)).toEqual(refused);
    await world.member("bob", "owner");
    expect(await world.members.put(ACME, ada, "admin", BY_OWNER)).toMatchObject({ ok: true });
    expect(await world.members.remove(ACME, user("bob"), OPERATOR)).toMatchObject({
      refusal: { code: "last_owner" },
    });
  });

  it("also when several owners leave at once, in several processes", async () => {
    const world = await IdentityWorld.open();
    const names = ["ada", "bob", "cleo", "dan"];
    for (const name of names) await world.member(name, "owner");
    // Only over one and the same store do they wait for each other.
    const processes = names.map(() => new Members(altered(world.store, {}), { nowMs: () => 1 }));
    const left = await Promise.all(
      names.map((name, at) => processes[at]?.remove(ACME, user(name), OPERATOR)),
    );
    const gone = names.filter((_, at) => left[at]?.ok);
    expect(gone).toHaveLength(3);
    expect(Object.values(await rolesIn(world))).toEqual(["owner"]);
    const told = (await world.audit()).filter(({ act }) => act === "member_removed");
    expect(told.map(({ details }) => details.userId).sort()).toEqual(gone);
  });

  it.each<["owner" | "admin" | "member", "owner" | "admin" | "viewer", boolean]>([
    ["member", "admin", true],
    ["member", "owner", false],
    ["owner", "viewer", false],
    ["admin", "viewer", true],
  ])("of role %s are made %s by an admin: %s", async (from, to, may) => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    await world.member("bob", from);
    const put = await world.members.put(ACME, user("bob"), to, BY_ADMIN);
    expect(put.ok).toBe(may);
    if (!put.ok)
      expect(put.refusal).toEqual({ code: "role_required", details: { roles: "owners" } });
  });

  it("P10: are so many at most", async () => {
    const world = await IdentityWorld.open();
    const members = Array.from({ length: MEMBERS_MAX }, (_, at) => {
      return { userId: `u${at}`, role: "member", membership: "m", addedAtMs: 1 };
    });
    const write = { kind: "members", key: "all", expectedVersion: 0, value: { members } };
    await value(world.store.writeDocument(ACME, write));
    const limit = { code: "member_limit_exceeded", details: { limit: MEMBERS_MAX } };
    const put = await world.members.put(ACME, user("ada"), "member", BY_OWNER);
    expect(put).toEqual({ ok: false, refusal: limit });
    expect((await world.members.put(ACME, user("u7"), "viewer", BY_OWNER)).ok).toBe(true);
  });

  it("change with a word in the audit, or not at all", async () => {
    const world = await IdentityWorld.open();
    const mute = altered(world.store, { writeDocument: async () => AWAY });
    const members = new Members(mute, { nowMs: () => 1 });
    expect(await members.put(ACME, user("ada"), "owner", BY_OWNER)).toEqual(AWAY);
    expect(await rolesIn(world)).toEqual({});
    const steward = { kind: "client", userId: user("ada") } as const;
    await value(world.members.put(ACME, user("bob"), "viewer", { steward, role: "owner" }));
    await value(world.members.put(ACME, user("bob"), "admin", { steward, role: "owner" }));
    await value(world.members.remove(ACME, user("bob"), steward));
    expect(await world.audit()).toMatchObject([
      { act: "member_set", actor: steward, details: { userId: "bob", role: "viewer" } },
      { act: "member_set", details: { userId: "bob", role: "admin", from: "viewer" } },
      { act: "member_removed", actor: steward, details: { userId: "bob", from: "admin" } },
    ]);
  });

  it("that cannot be read are not taken for none", async () => {
    const world = await IdentityWorld.open();
    const odd = { members: [{ userId: "../x", role: "owner" }] };
    const write = { kind: "members", key: "all", expectedVersion: 0, value: odd };
    await value(world.store.writeDocument(ACME, write));
    const corrupt = { refusal: { code: "session_corrupt" } };
    expect(await world.members.list(ACME)).toMatchObject(corrupt);
    expect(await world.members.put(ACME, user("ada"), "owner", BY_OWNER)).toMatchObject(corrupt);
  });
});

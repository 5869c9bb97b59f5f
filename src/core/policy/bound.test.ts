import { describe, expect, it } from "vitest";
import { parseUserId, type UserId } from "../id.ts";
import type { Role } from "../permission.ts";
import { type BindingTenant, boundOf, type Outsiders, type TurnSpeaker } from "./bound.ts";
import { DEFAULT_POLICY } from "./ceiling.ts";

function user(name: string): UserId {
  return parseUserId(name) ?? expect.fail();
}

function tenant(
  members: Readonly<Record<string, Role>>,
  outsiders: Outsiders = { users: false, operator: false },
): BindingTenant {
  const known = Object.entries(members).map(([name, role]) => [user(name), role] as const);
  return { policy: DEFAULT_POLICY, members: new Map(known), outsiders };
}

function speaker(name: string | null, role: Role | null, isMember = true): TurnSpeaker {
  const userId = name === null ? null : user(name);
  return { userId, authority: role === null ? null : { role, isMember } };
}

const BY_JWT: Outsiders = { users: true, operator: false };

describe("the role that binds a user", () => {
  it.each<[string, BindingTenant, TurnSpeaker, Role | null]>([
    ["is the member's", tenant({ ada: "owner" }), speaker("ada", "owner"), "owner"],
    ["is at most the token's", tenant({ ada: "owner" }), speaker("ada", "member"), "member"],
    ["is at most the member's", tenant({ ada: "member" }), speaker("ada", "owner"), "member"],
    ["is looked up for older logs", tenant({ ada: "admin" }), speaker("ada", null), "admin"],
    ["is none for one who was removed", tenant({}), speaker("ada", "owner"), null],
    ["is none for one who is unknown", tenant({}), speaker("ada", "owner", false), null],
    ["is the JWT's", tenant({}, BY_JWT), speaker("ada", "admin", false), "admin"],
    ["is none for a removed member beside JWTs", tenant({}, BY_JWT), speaker("ada", "admin"), null],
    ["is the operator's, who has no name", tenant({}), speaker(null, null), "owner"],
  ])("%s", (_what, where, who, role) => {
    expect(boundOf(where, [who]).ceiling.role).toBe(role);
  });

  it("is the lowest of all whose words are in the turn", () => {
    const where = tenant({ ada: "owner", ben: "member" });
    const both = [speaker("ada", "owner"), speaker("ben", "member")];
    expect(boundOf(where, both).ceiling).toMatchObject({ role: "member", mode: "allowlist" });
    expect(boundOf(where, both).authority).toEqual({ role: "owner", isMember: true });
    expect(boundOf(where, []).ceiling).toMatchObject({ mode: "ask", autonomy: "manual" });
  });
});

describe("the others who could decide", () => {
  it.each<[string, BindingTenant, boolean, boolean]>([
    ["nobody", tenant({ ada: "owner" }), false, false],
    ["a viewer, who has no vote", tenant({ ada: "owner", eve: "viewer" }), false, false],
    ["a member", tenant({ ada: "owner", ben: "member" }), true, false],
    ["an owner", tenant({ ada: "owner", ben: "owner" }), true, true],
    ["users by JWT", tenant({ ada: "owner" }, BY_JWT), true, true],
    ["the operator", tenant({ ada: "owner" }, { users: false, operator: true }), true, true],
  ])("are %s", (_who, where, voters, owners) => {
    expect(boundOf(where, [speaker("ada", "owner")]).others).toEqual({ voters, owners });
  });
});

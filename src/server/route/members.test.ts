import { describe, expect, it } from "vitest";
import { tenant } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";

async function opened() {
  const people = await People.open();
  const ada = await people.person("ada", "owner");
  const bob = await people.person("bob", "member");
  return { people, ada, bob };
}

describe("the members over HTTP", () => {
  it("are listed, and a role that changes counts with the next request", async () => {
    const { ada, bob } = await opened();
    const body = { displayName: "x" };
    expect((await bob.call("PATCH", "/session/none/metadata", { body })).status).toBe(404);
    const put = await ada.call("POST", "/members/bob", { body: { role: "viewer" } });
    const addedAt = expect.stringMatching(/Z$/);
    expect([put.status, put.body]).toEqual([200, { user: "bob", role: "viewer", addedAt }]);
    expect((await bob.call("PATCH", "/session/none/metadata", { body })).status).toBe(403);
    expect((await ada.call("GET", "/members")).body).toEqual({
      members: [
        { user: "ada", role: "owner", addedAt },
        { user: "bob", role: "viewer", addedAt },
      ],
    });
    // The token was made for a member, and is no more than that when its user is.
    await ada.call("POST", "/members/bob", { body: { role: "owner" } });
    expect((await bob.call("GET", "/members")).status).toBe(403);
  });

  it("who are removed are out at once, tokens and all", async () => {
    const { ada, bob } = await opened();
    const removed = await ada.call("DELETE", "/members/bob");
    expect([removed.status, removed.text]).toEqual([204, ""]);
    expect((await bob.call("GET", "/workspaces")).status).toBe(401);
    expect((await ada.call("GET", "/tokens")).body.tokens).toMatchObject([{ user: "ada" }]);
    const again = await ada.call("DELETE", "/members/bob");
    expect([again.status, again.body]).toEqual([
      404,
      { error: 'There is no member "bob".', code: "member_not_found", userId: "bob" },
    ]);
  });

  it("keep their last owner", async () => {
    const { ada } = await opened();
    for (const [method, call] of [
      ["DELETE", {}],
      ["POST", { body: { role: "member" } }],
    ] as const) {
      const { status, body } = await ada.call(method, "/members/ada", call);
      expect([status, body.code]).toEqual([409, "last_owner"]);
    }
  });

  it("are brought in by admins, but no owners are made or changed by them", async () => {
    const { people, ada } = await opened();
    const cleo = await people.person("cleo", "admin");
    const roles = async (user: string, role: string) =>
      (await cleo.call("POST", `/members/${user}`, { body: { role } })).status;
    expect(await roles("dan", "admin")).toBe(200);
    expect(await roles("dan", "owner")).toBe(403);
    expect(await roles("cleo", "owner")).toBe(403);
    expect(await roles("ada", "viewer")).toBe(403);
    expect((await cleo.call("DELETE", "/members/dan")).status).toBe(403);
    expect((await ada.call("DELETE", "/members/dan")).status).toBe(204);
  });

  it("have ids and roles, and no others than these", async () => {
    const { ada } = await opened();
    for (const [path, body] of [
      ["/members/a%2Fb", { role: "viewer" }],
      ["/members/..%2F", { role: "viewer" }],
      [`/members/${"x".repeat(129)}`, { role: "viewer" }],
      ["/members/zoe", { role: "root" }],
      ["/members/zoe", {}],
    ] as const) {
      const { status, body: said } = await ada.call("POST", path, { body });
      expect([path, status, said.code]).toEqual([path, 400, "invalid_request"]);
    }
    expect((await ada.call("DELETE", "/members/a%2Fb")).status).toBe(404);
  });

  it("P8: of another tenant are others, whatever they are called", async () => {
    const { people, ada } = await opened();
    const other = await people.person("ada", "owner", tenant("other"));
    await people.person("eve", "viewer", tenant("other"));
    expect((await other.call("DELETE", "/members/bob")).status).toBe(404);
    expect((await ada.call("GET", "/members")).body.members).toHaveLength(2);
  });
});

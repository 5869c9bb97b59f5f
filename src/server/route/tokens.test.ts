import { describe, expect, it } from "vitest";
import { TOKEN_GRACE_MS_MAX, TOKEN_LIFE_MS_MAX } from "../../core/limits.ts";
import { DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import { tenant } from "../identity/identity.fixture.ts";
import { People } from "../identity/people.fixture.ts";
import { tokensRoutes } from "./members.ts";

async function opened() {
  const people = await People.open();
  const ada = await people.person("ada", "owner");
  return { people, ada };
}

describe("POST /tokens", () => {
  it("makes a token that works at once, and shows it this once", async () => {
    const { people, ada } = await opened();
    await people.person("bob", "member");
    const body = { user: "bob", role: "viewer", name: " CI ", expiresInMs: 60_000 };
    const made = await ada.call("POST", "/tokens", { body });
    expect([made.status, made.body]).toEqual([
      200,
      {
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        name: "CI",
        user: "bob",
        role: "viewer",
        createdAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
        lastUsedAt: null,
        revokedAt: null,
        token: expect.stringMatching(/^fmt_acme_/),
      },
    ]);
    const bob = ada.with(String(made.body.token));
    expect((await bob.call("GET", "/workspaces")).status).toBe(200);
    const denied = await bob.call("POST", "/session", { body: {} });
    expect([denied.status, denied.body.code]).toEqual([403, "role_required"]);
    const { token: _, lastUsedAt: __, ...entry } = made.body;
    const listed = await ada.call("GET", "/tokens");
    expect(listed.body.tokens).toContainEqual(expect.objectContaining(entry));
    expect(listed.text).not.toContain(String(made.body.token).slice(-64));
  });

  it("is for the caller where nobody is named, and for members only", async () => {
    const { ada } = await opened();
    const own = await ada.call("POST", "/tokens", { body: { role: "owner" } });
    expect([own.status, own.body.user]).toEqual([200, "ada"]);
    const nobody = await ada.call("POST", "/tokens", { body: { role: "viewer", user: "zoe" } });
    expect([nobody.status, nobody.body.code]).toEqual([404, "member_not_found"]);
  });

  it.each([
    {},
    { role: "root" },
    { role: "viewer", user: "../x" },
    { role: "viewer", user: "" },
    { role: "viewer", user: 7 },
    { role: "viewer", name: "a\nb" },
    { role: "viewer", name: "x".repeat(129) },
    { role: "viewer", expiresInMs: 0 },
    { role: "viewer", expiresInMs: -1 },
    { role: "viewer", expiresInMs: 1.5 },
    { role: "viewer", expiresInMs: TOKEN_LIFE_MS_MAX + 1 },
  ])("takes no %j", async (body) => {
    const { ada } = await opened();
    const { status, body: said } = await ada.call("POST", "/tokens", { body });
    expect([status, said.code]).toEqual([400, "invalid_request"]);
  });

  it("wants a user from a caller who is none in particular", async () => {
    const world = await DaemonWorld.open({ routes: tokensRoutes });
    const { status, body } = await world.call("POST", "/tokens", {
      body: { role: "viewer" },
      as: LOCAL,
    });
    expect([status, body.code, body.path]).toEqual([400, "invalid_request", "user"]);
  });

  it("is closed where nobody needs a token", async () => {
    const world = await DaemonWorld.open({ routes: tokensRoutes, needsToken: false });
    const answer = await world.call("POST", "/tokens", { body: { role: "viewer", user: "ada" } });
    expect([answer.status, answer.body.code]).toEqual([401, "token_required"]);
  });
});

describe("DELETE /tokens/:id and POST /tokens/:id/rotate", () => {
  it("end a token, or its secret, from the next request on", async () => {
    const { people, ada } = await opened();
    const bob = await people.person("bob", "member");
    const rotated = await ada.call("POST", `/tokens/${bob.tokenId}/rotate`, { body: {} });
    expect(rotated.body).toMatchObject({ id: bob.tokenId, user: "bob" });
    expect((await bob.call("GET", "/workspaces")).status).toBe(401);
    const again = bob.with(String(rotated.body.token));
    expect((await again.call("GET", "/workspaces")).status).toBe(200);
    const revoked = await ada.call("DELETE", `/tokens/${bob.tokenId}`);
    expect([revoked.status, revoked.text]).toEqual([204, ""]);
    expect((await again.call("GET", "/workspaces")).status).toBe(401);
    const gone = await ada.call("DELETE", `/tokens/${bob.tokenId}`);
    expect([gone.status, gone.body.code]).toEqual([404, "token_not_found"]);
  });

  it("with a grace leave the old secret for a while", async () => {
    const { people, ada } = await opened();
    const bob = await people.person("bob", "member");
    const path = `/tokens/${bob.tokenId}/rotate`;
    await ada.call("POST", path, { body: { graceMs: 60_000 } });
    expect((await bob.call("GET", "/workspaces")).status).toBe(200);
    for (const graceMs of [-1, 0.5, "1h", TOKEN_GRACE_MS_MAX + 1]) {
      expect((await ada.call("POST", path, { body: { graceMs } })).status).toBe(400);
    }
  });

  it("P8: know no token of another tenant", async () => {
    const { people, ada } = await opened();
    const eve = await people.person("eve", "owner", tenant("other"));
    for (const [method, path] of [
      ["DELETE", `/tokens/${ada.tokenId}`],
      ["POST", `/tokens/${ada.tokenId}/rotate`],
    ] as const) {
      const { status, body } = await eve.call(method, path);
      expect([status, body.code]).toEqual([404, "token_not_found"]);
    }
    expect((await ada.call("GET", "/tokens")).status).toBe(200);
  });
});

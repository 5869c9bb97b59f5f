import { writeFileSync } from "node:fs";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import {
  JWT_CACHED_MS_MAX,
  JWT_SKEW_MS,
  KEY_FILE_KEPT_MS_MAX,
  KEY_FILE_RETRY_MS,
  KEY_SET_BYTES_MAX,
  KEY_SET_RETRY_MS,
} from "../../core/limits.ts";
import { CLAIMS, fileOf, Issuer, KeyServer, NOW_MS, TRUST, wayBy } from "./jwt.fixture.ts";
import { openJwtAuthenticator } from "./jwt.ts";

const ADA = { tenantId: "acme", userId: "ada", role: "member" };
const NOW_S = NOW_MS / 1_000;

describe("a JWT", () => {
  it.each(["RS256", "ES256"])("signed with %s says tenant, user and role", async (alg) => {
    const issuer = await Issuer.make(alg);
    const { who } = await wayBy(fileOf(issuer.jwk));
    expect(await who(await issuer.sign())).toEqual(ADA);
  });

  it("says so by the claims that were chosen", async () => {
    const issuer = await Issuer.make();
    const claims = { tenantClaim: "https://x.example/org", roleClaim: "level" };
    const { who } = await wayBy(fileOf(issuer.jwk), claims);
    const said = { ...CLAIMS, "https://x.example/org": "other", level: "viewer" };
    expect(await who(await issuer.sign(said))).toEqual({
      tenantId: "other",
      userId: "ada",
      role: "viewer",
    });
  });

  const { tenant_id: _, ...noTenant } = CLAIMS;
  const { role: __, ...noRole } = CLAIMS;
  const { sub: ___, ...noSubject } = CLAIMS;
  const { exp: ____, ...noExpiry } = CLAIMS;
  const skewS = JWT_SKEW_MS / 1_000;

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["for somebody else", { ...CLAIMS, aud: "another" }],
    ["for nobody", { ...CLAIMS, aud: undefined }],
    ["of another issuer", { ...CLAIMS, iss: "https://evil.example" }],
    ["of no issuer", { ...CLAIMS, iss: undefined }],
    ["that has expired", { ...CLAIMS, exp: NOW_S - skewS - 1 }],
    ["that is not valid yet", { ...CLAIMS, nbf: NOW_S + skewS + 1 }],
    ["that never expires", noExpiry],
    ["without a tenant", noTenant],
    ["with an odd tenant", { ...CLAIMS, tenant_id: "../other" }],
    ["with a tenant too long", { ...CLAIMS, tenant_id: "x".repeat(129) }],
    ["with an empty tenant", { ...CLAIMS, tenant_id: "" }],
    ["with several tenants", { ...CLAIMS, tenant_id: ["acme"] }],
    ["without a role", noRole],
    ["with an odd role", { ...CLAIMS, role: "root" }],
    ["without a user", noSubject],
    ["with an empty user", { ...CLAIMS, sub: "" }],
    ["with an endless user", { ...CLAIMS, sub: "x".repeat(1_025) }],
  ])("%s is nobody's", async (_what, claims) => {
    const issuer = await Issuer.make();
    const { who } = await wayBy(fileOf(issuer.jwk));
    expect(await who(await issuer.sign(JSON.parse(JSON.stringify(claims))))).toBeNull();
  });

  it("of alg none, HS256 with the public key, or another's signature is nobody's", async () => {
    const issuer = await Issuer.make("RS256");
    const other = await Issuer.make("RS256");
    const { who } = await wayBy(fileOf(issuer.jwk));
    const [, body = "", signature = ""] = (await issuer.sign()).split(".");
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const secret = Buffer.from(JSON.stringify(issuer.jwk));
    const head = { alg: "HS256", kid: "k1" };
    const hashed = await new SignJWT(CLAIMS).setProtectedHeader(head).sign(secret);
    const forged = [
      `${part({ alg: "none" })}.${body}.`,
      `${part({ alg: "none" })}.${body}.${signature}`,
      `${part({ alg: "None", kid: "k1" })}.${body}.${signature}`,
      hashed,
      `${part({ alg: "HS256", kid: "k1" })}.${body}.${signature}`,
      await other.sign(),
      `${part({ alg: "RS256", kid: "k1" })}.${part({ ...CLAIMS, role: "owner" })}.${signature}`,
      "a.b.c",
      "..",
      "fmt_acme",
    ];
    for (const token of forged) expect(await who(token)).toBeNull();
  });

  it("of an algorithm that is sound, but not ours, is nobody's", async () => {
    const issuer = await Issuer.make("PS256");
    const { who } = await wayBy(fileOf(issuer.jwk));
    expect(await who(await issuer.sign())).toBeNull();
  });

  it("names users by its own rules: each is always the same, and never another", async () => {
    const issuer = await Issuer.make();
    const { who } = await wayBy(fileOf(issuer.jwk));
    const idOf = async (sub: string) =>
      Object(await who(await issuer.sign({ ...CLAIMS, sub }))).userId;
    const odd = await idOf("auth0|5f7c");
    expect(odd).toMatch(/^sub:[0-9a-f]{64}$/);
    expect(await idOf("auth0|5f7c")).toBe(odd);
    expect(await idOf("auth0|5f7d")).not.toBe(odd);
    expect(await idOf(odd)).not.toBe(odd);
  });
});

describe("a JWT that was verified", () => {
  it("is believed for five minutes, without the keys", async () => {
    const issuer = await Issuer.make();
    const keys = await KeyServer.open(issuer.jwk);
    const { world, who, way } = await wayBy(keys.url);
    const token = await issuer.sign({ ...CLAIMS, exp: NOW_S + 3_600 });
    expect(way.authenticate(token)).toBeInstanceOf(Promise);
    expect(await who(token)).toEqual(ADA);
    world.nowMs += JWT_CACHED_MS_MAX - 1;
    expect(way.authenticate(token)).toEqual({ ok: true, value: ADA });
    world.nowMs += 1;
    expect(way.authenticate(token)).toBeInstanceOf(Promise);
  });

  it("but never beyond its own end", async () => {
    const issuer = await Issuer.make();
    const { world, who } = await wayBy(fileOf(issuer.jwk));
    const token = await issuer.sign({ ...CLAIMS, exp: NOW_S + 30 });
    expect(await who(token)).toEqual(ADA);
    world.nowMs += 30_000 + JWT_SKEW_MS;
    expect(await who(token)).toBeNull();
  });
});

describe("a set of keys", () => {
  it("is fetched when the first token comes, once for all of them", async () => {
    const issuer = await Issuer.make();
    const keys = await KeyServer.open(issuer.jwk);
    const { who } = await wayBy(keys.url);
    expect(keys.asked).toBe(0);
    const tokens = await Promise.all(["a", "b", "c"].map((sub) => issuer.sign({ ...CLAIMS, sub })));
    const found = await Promise.all(tokens.map(who));
    expect(found).toMatchObject([{ userId: "a" }, { userId: "b" }, { userId: "c" }]);
    expect(keys.asked).toBe(1);
  });

  it("is not fetched for each forged token", async () => {
    const issuer = await Issuer.make();
    const keys = await KeyServer.open(issuer.jwk);
    const { who } = await wayBy(keys.url);
    await who(await issuer.sign());
    for (let n = 0; n < 5; n += 1) {
      const forger = await Issuer.make("ES256", `forged-${n}`);
      expect(await who(await forger.sign())).toBe("unauthorized");
    }
    expect(keys.asked).toBe(1);
  });

  it("is fetched again for a key that is not in it, when it was not fetched just now", async () => {
    const [old, next] = [await Issuer.make("ES256", "k1"), await Issuer.make("ES256", "k2")];
    const keys = await KeyServer.open(old.jwk);
    const { world, who } = await wayBy(keys.url);
    expect(await who(await old.sign())).toEqual(ADA);
    keys.answer = { status: 200, body: JSON.stringify({ keys: [next.jwk] }) };
    expect(await who(await next.sign())).toBe("unauthorized");
    world.nowMs += KEY_SET_RETRY_MS;
    expect(await who(await next.sign())).toEqual(ADA);
    expect(keys.asked).toBe(2);
    // Now the old key is known to be gone, and for a while the set is not fetched for it again.
    expect(await who(await old.sign({ ...CLAIMS, sub: "bob" }))).toBe("unauthorized");
    world.nowMs += KEY_SET_RETRY_MS;
    expect(await who(await old.sign({ ...CLAIMS, sub: "bob" }))).toBeNull();
  });

  it("is fetched again when the clock was set back, before that has caught up", async () => {
    const [old, next] = [await Issuer.make("ES256", "k1"), await Issuer.make("ES256", "k2")];
    const keys = await KeyServer.open(old.jwk);
    const { world, who } = await wayBy(keys.url);
    expect(await who(await old.sign())).toEqual(ADA);
    keys.answer = { status: 200, body: JSON.stringify({ keys: [next.jwk] }) };
    world.nowMs -= 1_000;
    expect(await who(await next.sign())).toEqual(ADA);
  });

  it("in a file is read again when it may have changed, and never believed half", async () => {
    const [old, next] = [await Issuer.make("ES256", "k1"), await Issuer.make("ES256", "k2")];
    const path = fileOf(old.jwk);
    const { world, who } = await wayBy(path);
    expect(await who(await old.sign())).toEqual(ADA);
    writeFileSync(path, JSON.stringify({ keys: [old.jwk, next.jwk] }));
    expect(await who(await next.sign())).toBe("unauthorized");
    world.nowMs += KEY_FILE_RETRY_MS;
    expect(await who(await next.sign())).toEqual(ADA);
    writeFileSync(path, JSON.stringify({ keys: [next.jwk] }));
    world.nowMs += KEY_FILE_KEPT_MS_MAX;
    expect(await who(await old.sign({ ...CLAIMS, sub: "bob" }))).toBeNull();
    writeFileSync(path, '{"keys": [');
    world.nowMs += KEY_FILE_KEPT_MS_MAX;
    const token = await next.sign({ ...CLAIMS, sub: "cy" });
    expect(await who(token)).toBe("key_set_unavailable");
    writeFileSync(path, JSON.stringify({ keys: [next.jwk] }));
    world.nowMs += KEY_FILE_RETRY_MS;
    expect(await who(token)).toMatchObject({ userId: "cy" });
  });

  it.each([
    ["an error", { status: 500, body: "{}" }],
    ["a way to elsewhere", { status: 302, body: "" }],
    ["no JSON", { status: 200, body: "<html>" }],
    ["no keys", { status: 200, body: '{"keys":[]}' }],
    ["too much", { status: 200, body: JSON.stringify({ keys: "x".repeat(KEY_SET_BYTES_MAX) }) }],
  ])("that is answered with %s is away: that says nothing about a token", async (_what, answer) => {
    const issuer = await Issuer.make();
    const keys = await KeyServer.open(issuer.jwk);
    keys.answer = answer;
    const { who } = await wayBy(keys.url);
    const token = await issuer.sign();
    expect(await who(token)).toBe("key_set_unavailable");
    // And no token causes a further fetch for a while.
    expect(await who(token)).toBe("key_set_unavailable");
    expect(keys.asked).toBe(1);
  });

  it("comes by https, unless it comes from this machine", async () => {
    const clock = { nowMs: () => NOW_MS };
    const opened = await openJwtAuthenticator(
      { ...TRUST, keySet: "http://keys.example/jwks" },
      clock,
    );
    expect(opened).toMatchObject({ refusal: { code: "invalid_server_config" } });
    const safe = await openJwtAuthenticator(
      { ...TRUST, keySet: "https://keys.example/jwks" },
      clock,
    );
    expect(safe).toMatchObject({ ok: true });
  });

  it.each(["", "{}", '{"keys":[]}', '{"keys":[{}]}', "[]"])(
    "in a file is one, and not %j",
    async (text) => {
      const path = fileOf();
      writeFileSync(path, text);
      const opened = await openJwtAuthenticator(
        { ...TRUST, keySet: path },
        { nowMs: () => NOW_MS },
      );
      expect(opened).toMatchObject({
        refusal: { code: "invalid_server_config", details: { path: "--jwt-jwks" } },
      });
    },
  );

  it("that is not there is said so", async () => {
    const opened = await openJwtAuthenticator(
      { ...TRUST, keySet: "/no/such" },
      { nowMs: () => NOW_MS },
    );
    expect(opened).toMatchObject({ refusal: { details: { path: "--jwt-jwks" } } });
  });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ACME, IdentityWorld, OPERATOR } from "../../server/identity/identity.fixture.ts";
import { fileOf, Issuer } from "../../server/identity/jwt.fixture.ts";
import { Voters } from "../../server/identity/token-authenticator.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import { value } from "../../store/kit/expect.ts";
import { openAuthenticator } from "./identity.ts";
import { readJwtAuthenticator } from "./operator-files.ts";
import { readServeOptions } from "./read-options.ts";

function optionsOf(...args: readonly string[]) {
  const home = mkdtempSync(join(tmpdir(), "fermata-identify-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return value(readServeOptions(args, { FERMATA_HOME: home }));
}

async function started(world: IdentityWorld, ...args: readonly string[]) {
  const options = await optionsOf(...args);
  const jwt = await value(readJwtAuthenticator(options));
  const voters = new Voters({ lostVote: async () => {}, lostOwnership: async () => {} });
  const tenants = new TenantGate();
  const about = { options, jwt, localToken: null, store: world.store, tenants, voters };
  return openAuthenticator({ ...about, log: () => {} });
}

async function whoIs(world: IdentityWorld, args: readonly string[], authorization?: string) {
  const { authenticator } = await value(started(world, ...args));
  const found = await authenticator.authenticate(authorization);
  const caller = found.ok ? found.value : null;
  return { needsToken: authenticator.needsToken, caller };
}

const OWNER = { tenantId: "local", userId: null, role: "owner" };

describe("how callers say who they are", () => {
  it("is not asked where there is no token of any kind", async () => {
    const world = await IdentityWorld.open();
    expect(await whoIs(world, [])).toEqual({ needsToken: false, caller: OWNER });
  });

  it("is asked of everybody once anybody has a token, though it were revoked", async () => {
    const world = await IdentityWorld.open();
    const { text, kept } = await world.token("ada", "admin");
    expect(await whoIs(world, [])).toEqual({ needsToken: true, caller: null });
    const ada = { tenantId: "acme", userId: "ada", role: "admin" };
    expect(await whoIs(world, [], `Bearer ${text}`)).toEqual({ needsToken: true, caller: ada });
    await value(world.tokens.revoke(ACME, kept.id, OPERATOR));
    expect(await whoIs(world, [])).toEqual({ needsToken: true, caller: null });
  });

  it("may be the operator's token beside those of others, also of later ones", async () => {
    const world = await IdentityWorld.open();
    const { authenticator } = await value(started(world, "--token", "mine"));
    expect(await authenticator.authenticate("Bearer mine")).toEqual({ ok: true, value: OWNER });
    const { text } = await world.token("ada", "viewer");
    const ada = { tenantId: "acme", userId: "ada", role: "viewer" };
    expect(await authenticator.authenticate(`Bearer ${text}`)).toEqual({ ok: true, value: ada });
    expect(await authenticator.authenticate("Bearer other")).toEqual({ ok: true, value: null });
  });

  it("may be a JWT", async () => {
    const world = await IdentityWorld.open();
    const issuer = await Issuer.make();
    const iss = "https://issuer.example";
    const args = ["--jwt-jwks", fileOf(issuer.jwk), "--jwt-issuer", iss, "--jwt-audience", "us"];
    const exp = Math.floor(Date.now() / 1_000) + 60;
    const claims = { iss, aud: "us", sub: "ada", tenant_id: "acme", role: "admin", exp };
    const token = await issuer.sign(claims);
    const ada = { tenantId: "acme", userId: "ada", role: "admin" };
    expect(await whoIs(world, args, `Bearer ${token}`)).toEqual({ needsToken: true, caller: ada });
  });

  it.each([
    ["--hostname", "0.0.0.0"],
    ["--allow-origin", "*"],
    ["--require-auth"],
    ["--enable-session-shell"],
  ])("must be, before others are let in by %s %s", async (...args) => {
    const world = await IdentityWorld.open();
    expect(await started(world, ...args)).toMatchObject({
      refusal: { code: "invalid_server_config", details: { path: args[0] } },
    });
    await world.token("ada", "viewer");
    expect(await started(world, ...args)).toMatchObject({ ok: true });
  });

  it.each([
    ["--jwt-jwks", "/x"],
    ["--jwt-issuer", "x"],
    ["--jwt-jwks", "/x", "--jwt-audience", "x"],
  ])("is not by half of what a JWT needs: %s %s", async (...args) => {
    expect(await readJwtAuthenticator(await optionsOf(...args))).toMatchObject({
      refusal: { code: "invalid_server_config" },
    });
  });
});

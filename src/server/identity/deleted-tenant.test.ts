import { describe, expect, it } from "vitest";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import { thisHolder } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import { ACME, IdentityWorld } from "./identity.fixture.ts";
import { Members } from "./members.ts";
import { TokenAuthenticator } from "./token-authenticator.ts";

/** A caller with a token that was not used yet, and what is written of the use. */
async function opened() {
  const world = await IdentityWorld.open();
  const { text } = await world.token("ada", "owner");
  const tenants = new TenantGate();
  const read = { isSlow: false, ...Promise.withResolvers<void>() };
  const written: string[] = [];
  const store = altered(world.store, {
    readDocument: async (...place) => {
      const found = await world.store.readDocument(...place);
      if (read.isSlow) await read.promise;
      return found;
    },
    writeDocument: (tenantId, document) => {
      written.push(document.key);
      return world.store.writeDocument(tenantId, document);
    },
  });
  const clock = { nowMs: () => world.nowMs };
  const way = new TokenAuthenticator(store, new Members(store, clock), clock, tenants);
  return { world, text, tenants, read, written, way };
}

describe("a token whose tenant cannot be read", () => {
  it.each([
    ["token", 0],
    ["member", 1],
  ])("is nobody's while that is being deleted, nor a trouble: its %s", async (_what, nth) => {
    const { world, text, tenants } = await opened();
    let reads = 0;
    const store = altered(world.store, {
      readDocument: async (...place) => {
        return reads++ % 2 === nth ? AWAY : world.store.readDocument(...place);
      },
    });
    const clock = { nowMs: () => world.nowMs };
    const way = new TokenAuthenticator(store, new Members(store, clock), clock, tenants);
    expect(await way.authenticate(text)).toEqual(AWAY);
    tenants.close(ACME);
    expect(await way.authenticate(text)).toMatchObject({ refusal: { code: "unauthorized" } });
    const late = way.authenticate(text);
    tenants.open(ACME);
    expect(await late).toMatchObject({ refusal: { code: "unauthorized" } });
    expect(await way.authenticate(text)).toEqual(AWAY);
  });
});

describe("the last use of a token whose tenant is deleted", () => {
  it("is not written down while that goes on", async () => {
    const { text, tenants, written, way } = await opened();
    tenants.close(ACME);
    expect(await way.authenticate(text)).toMatchObject({ value: { userId: "ada" } });
    expect(written).toEqual([]);
  });

  it("is waited for if it was being written down before", async () => {
    const { text, tenants, written, way, world } = await opened();
    await way.authenticate(text);
    tenants.close(ACME);
    await tenants.empty(ACME);
    expect(written).toHaveLength(1);
    const [token] = await value(world.tokens.list(ACME));
    expect(token?.lastUsedAtMs).toBe(world.nowMs);
  });

  it("is not written down afterwards for who was looked up before", async () => {
    const { world, text, tenants, read, written, way } = await opened();
    read.isSlow = true;
    const recognizing = way.authenticate(text);
    tenants.close(ACME);
    await value(world.store.removeTenant(ACME, thisHolder("a test")));
    tenants.open(ACME);
    read.resolve();
    await recognizing;
    expect(written).toEqual([]);
    expect(await value(world.store.tenants())).toEqual([]);
  });
});

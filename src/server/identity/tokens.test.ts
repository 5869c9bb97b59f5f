import { describe, expect, it, vi } from "vitest";
import { TOKEN_GRACE_MS_MAX, TOKEN_USE_NOTED_MS, TOKENS_MAX } from "../../core/limits.ts";
import { AWAY, altered } from "../../session/altered-store.fixture.ts";
import { thisHolder } from "../../store/index.ts";
import { value } from "../../store/kit/expect.ts";
import {
  ACME,
  BY_OWNER,
  DAY_MS,
  IdentityWorld,
  OPERATOR,
  tenant,
  user,
} from "./identity.fixture.ts";
import { Members } from "./members.ts";
import { hasStoredTokens, TokenAuthenticator } from "./token-authenticator.ts";
import { hashOfSecret, parseCredential, Tokens } from "./tokens.ts";

const ADA = { tenantId: "acme", userId: "ada", role: "admin" };

describe("a stored token", () => {
  it("opens for its tenant, user and role", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin");
    expect(await world.who(text)).toEqual(ADA);
  });

  it("P11: is kept as a hash, and listed without anything of its secret", async () => {
    const world = await IdentityWorld.open();
    const { text, kept } = await world.token("ada", "admin");
    const secret = parseCredential(text)?.secret ?? "";
    const stored = await value(world.store.readDocument(ACME, "token", kept.id));
    const everything = JSON.stringify([stored, await world.audit()]);
    expect(everything).not.toContain(secret);
    expect(everything).toContain(hashOfSecret(secret));
  });

  it("is nobody's if anything about it is wrong", async () => {
    const world = await IdentityWorld.open();
    const { text, kept } = await world.token("ada", "admin");
    const other = await world.token("bob", "owner", { tenantId: tenant("other") });
    const secret = parseCredential(text)?.secret ?? "";
    const wrong = [
      `fmt_other_${kept.id}_${secret}`,
      `fmt_nowhere_${kept.id}_${secret}`,
      `fmt_ACME_${kept.id}_${secret}`,
      `fmt_acme_${other.kept.id}_${secret}`,
      `fmt_acme_${kept.id}_${"0".repeat(64)}`,
      `fmt_acme_${kept.id}_${hashOfSecret(secret)}`,
      `fmt_acme_${"0".repeat(16)}_${secret}`,
      "fmt_acme",
    ];
    for (const one of wrong) expect(await world.who(one)).toBeNull();
    expect(await value(world.store.tenants())).not.toContain("nowhere");
  });

  it("opens until it expires, and no longer", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin", { lifeMs: DAY_MS });
    world.nowMs += DAY_MS - 1;
    expect(await world.who(text)).toEqual(ADA);
    world.nowMs += 1;
    expect(await world.who(text)).toBeNull();
  });

  it("is revoked for good, by whichever process", async () => {
    const world = await IdentityWorld.open();
    const { text, kept } = await world.token("ada", "admin");
    const elsewhere = new IdentityWorld(world.store);
    await value(elsewhere.tokens.revoke(ACME, kept.id, OPERATOR));
    expect(await world.who(text)).toBeNull();
    const gone = { refusal: { code: "token_not_found", details: { tokenId: kept.id } } };
    expect(await world.tokens.revoke(ACME, kept.id, OPERATOR)).toMatchObject(gone);
    expect(await world.tokens.rotate(ACME, kept.id, 0, OPERATOR)).toMatchObject(gone);
    expect(await value(world.tokens.list(ACME))).toMatchObject([{ revokedAtMs: world.nowMs }]);
  });

  it("is rotated: no clock gives the old secret longer than anybody may give it", async () => {
    const world = await IdentityWorld.open();
    const before = await world.token("ada", "owner");
    await value(world.tokens.rotate(ACME, before.kept.id, TOKEN_GRACE_MS_MAX, OPERATOR));
    expect(await world.who(before.text)).toMatchObject({ userId: "ada" });
    world.nowMs -= 1;
    expect(await world.who(before.text)).toBeNull();
  });

  it("is rotated: the old secret dies at once", async () => {
    const world = await IdentityWorld.open();
    const before = await world.token("ada", "admin");
    const after = await value(world.tokens.rotate(ACME, before.kept.id, 0, OPERATOR));
    expect(after.kept.id).toBe(before.kept.id);
    expect(await world.who(before.text)).toBeNull();
    expect(await world.who(after.text)).toEqual(ADA);
  });

  it("or lives on for as long as was said, and only the last one does", async () => {
    const world = await IdentityWorld.open();
    const first = await world.token("ada", "admin");
    const { id } = first.kept;
    const second = await value(world.tokens.rotate(ACME, id, 1_000, OPERATOR));
    world.nowMs += 999;
    expect(await world.who(first.text)).toEqual(ADA);
    const third = await value(world.tokens.rotate(ACME, id, 1_000, OPERATOR));
    expect(await world.who(first.text)).toBeNull();
    expect(await world.who(second.text)).toEqual(ADA);
    world.nowMs += 1_000;
    expect(await world.who(second.text)).toBeNull();
    expect(await world.who(third.text)).toEqual(ADA);
  });

  it.each(["", "x", "../../etc", "0".repeat(17), "G".repeat(16)])(
    "has no id such as %j",
    async (id) => {
      const world = await IdentityWorld.open();
      const refused = { refusal: { code: "token_not_found", details: { tokenId: id } } };
      expect(await world.tokens.revoke(ACME, id, OPERATOR)).toMatchObject(refused);
    },
  );

  it("is written about in the audit, or not made", async () => {
    const world = await IdentityWorld.open();
    const { kept } = await world.token("ada", "admin");
    await value(world.tokens.rotate(ACME, kept.id, 0, OPERATOR));
    await value(world.tokens.revoke(ACME, kept.id, OPERATOR));
    const acts = (await world.audit()).map(({ act, actor }) => `${act} ${actor.kind}`);
    expect(acts).toEqual([
      "member_set operator",
      "token_created operator",
      "token_rotated operator",
      "token_revoked operator",
    ]);
    const { expiresAtMs } = kept;
    const whose = { tokenId: kept.id, userId: "ada", role: "admin" };
    expect((await world.audit()).slice(1).map(({ details }) => details)).toEqual([
      { ...whose, expiresAtMs },
      whose,
      whose,
    ]);
    const mute = altered(world.store, { writeDocument: async () => AWAY });
    const clock = { nowMs: () => world.nowMs };
    const silent = new Tokens(mute, new Members(mute, clock), clock);
    const wish = { userId: user("ada"), role: "viewer", name: null, lifeMs: null } as const;
    expect(await silent.create(ACME, wish, OPERATOR)).toEqual(AWAY);
    expect(await value(world.tokens.list(ACME))).toHaveLength(1);
  });
});

describe("the role of a token", () => {
  it("is never more than its member's, whenever that changes", async () => {
    const world = await IdentityWorld.open();
    await world.member("eve", "owner");
    const { text } = await world.token("ada", "admin");
    const roleNow = async () => Object(await world.who(text)).role;
    expect(await roleNow()).toBe("admin");
    await world.member("ada", "viewer");
    expect(await roleNow()).toBe("viewer");
    await world.member("ada", "owner");
    expect(await roleNow()).toBe("admin");
  });

  it("cannot be asked for beyond it", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "member");
    const wish = { userId: user("ada"), name: null, lifeMs: null };
    expect(await world.tokens.create(ACME, { ...wish, role: "admin" }, OPERATOR)).toEqual({
      ok: false,
      refusal: { code: "token_role_exceeded", details: { userId: "ada", role: "member" } },
    });
    const nobody = { ...wish, role: "viewer", userId: user("zoe") } as const;
    expect(await world.tokens.create(ACME, nobody, OPERATOR)).toMatchObject({
      refusal: { code: "member_not_found" },
    });
  });

  it("ends with the membership, and does not come back with another one", async () => {
    const world = await IdentityWorld.open();
    await world.member("eve", "owner");
    const { text } = await world.token("ada", "member");
    await value(world.members.remove(ACME, user("ada"), OPERATOR));
    expect(await world.who(text)).toBeNull();
    await value(world.members.put(ACME, user("ada"), "member", BY_OWNER));
    expect(await world.who(text)).toBeNull();
  });

  it("and all tokens of a user can be forgotten, and nobody else's", async () => {
    const world = await IdentityWorld.open();
    for (const name of ["ada", "ada", "bob"]) await world.token(name, "member");
    await value(world.tokens.removeOf(ACME, user("ada")));
    expect(await value(world.tokens.list(ACME))).toMatchObject([{ userId: "bob" }]);
  });
});

describe("the last use of a token", () => {
  const lastUse = async ({ tokens }: IdentityWorld) => {
    const [token] = await value(tokens.list(ACME));
    return token?.lastUsedAtMs;
  };

  it("is written down, once a minute at most", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin");
    const firstMs = world.nowMs;
    await world.who(text);
    await expect.poll(() => lastUse(world)).toBe(firstMs);
    const write = vi.spyOn(world.store, "writeDocument");
    world.nowMs += TOKEN_USE_NOTED_MS - 1;
    await world.who(text);
    expect(write).not.toHaveBeenCalled();
    world.nowMs += 1;
    await world.who(text);
    await expect.poll(() => lastUse(world)).toBe(world.nowMs);
  });

  it("is written down at once when the clock was set back", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin");
    await world.who(text);
    await expect.poll(() => lastUse(world)).toBe(world.nowMs);
    world.nowMs -= DAY_MS;
    await world.who(text);
    await expect.poll(() => lastUse(world)).toBe(world.nowMs);
  });

  it("holds up no request, and harms none if it cannot be written", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin");
    const never = altered(world.store, { writeDocument: () => new Promise(() => {}) });
    const broken = altered(world.store, { writeDocument: () => Promise.reject(new Error("no")) });
    for (const store of [never, broken]) {
      const clock = { nowMs: () => world.nowMs };
      const way = new TokenAuthenticator(store, new Members(store, clock), clock);
      expect(await way.authenticate(text)).toEqual({ ok: true, value: ADA });
    }
  });

  it("brings no token back to life that is revoked meanwhile", async () => {
    const world = await IdentityWorld.open();
    const { text, kept } = await world.token("ada", "admin");
    let write = async () => {};
    const late = altered(world.store, {
      writeDocument: (tenantId, document) => {
        const { promise, resolve } = Promise.withResolvers<typeof AWAY>();
        write = async () => {
          await world.store.writeDocument(tenantId, document);
          resolve(AWAY);
        };
        return promise;
      },
    });
    const clock = { nowMs: () => world.nowMs };
    await new TokenAuthenticator(late, new Members(late, clock), clock).authenticate(text);
    await value(world.tokens.revoke(ACME, kept.id, OPERATOR));
    await write();
    expect(await world.who(text)).toBeNull();
  });
});

describe("a store of tokens", () => {
  it("that is away is no reason to call a token wrong", async () => {
    const world = await IdentityWorld.open();
    const { text } = await world.token("ada", "admin");
    const store = altered(world.store, { readDocument: async () => AWAY });
    const clock = { nowMs: () => world.nowMs };
    expect(
      await new TokenAuthenticator(store, new Members(store, clock), clock).authenticate(text),
    ).toBe(AWAY);
  });

  it("P10: holds so many of a tenant; those that are over make room", async () => {
    const world = await IdentityWorld.open();
    const { kept } = await world.token("ada", "admin", { lifeMs: DAY_MS });
    const { id: _, ...record } = kept;
    for (let n = 1; n < TOKENS_MAX; n += 1) {
      const key = n.toString(16).padStart(16, "0");
      const write = { kind: "token", key, expectedVersion: 0, value: record };
      await value(world.store.writeDocument(ACME, write));
    }
    const wish = { userId: user("ada"), role: "admin", name: null, lifeMs: null } as const;
    expect(await world.tokens.create(ACME, wish, OPERATOR)).toEqual({
      ok: false,
      refusal: { code: "token_limit_exceeded", details: { limit: TOKENS_MAX } },
    });
    world.nowMs += DAY_MS;
    await value(world.tokens.create(ACME, wish, OPERATOR));
    expect(await value(world.tokens.list(ACME))).toHaveLength(1);
  });

  it("knows whether there are any, also one that is revoked", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    expect(await value(hasStoredTokens(world.store))).toBe(false);
    const { kept } = await world.token("ada", "admin");
    await value(world.tokens.revoke(ACME, kept.id, OPERATOR));
    expect(await value(hasStoredTokens(world.store))).toBe(true);
    const damaged = altered(world.store, { listDocuments: async () => AWAY });
    expect(await value(hasStoredTokens(damaged))).toBe(true);
  });
});

describe("a token that is made beside a server which deletes its tenant", () => {
  it("P8: is not all that there is of a new one, and its end is audited", async () => {
    const world = await IdentityWorld.open();
    await world.member("ada", "owner");
    const { store } = world;
    let isGone = false;
    const going = async () => {
      if (!isGone) await value(store.removeTenant(ACME, thisHolder("a test")));
      isGone = true;
    };
    const beside = altered(store, {
      writeDocument: async (...write) => {
        await going();
        return store.writeDocument(...write);
      },
    });
    const clock = { nowMs: () => world.nowMs };
    const tokens = new Tokens(beside, new Members(beside, clock), clock);
    const wish = { userId: user("ada"), role: "owner", name: null, lifeMs: null } as const;
    const made = await tokens.create(ACME, wish, OPERATOR);
    expect(made).toMatchObject({ refusal: { code: "member_not_found" } });
    expect(await value(world.tokens.list(ACME))).toEqual([]);
    expect(await value(world.members.list(ACME))).toEqual([]);
    const acts = (await world.audit()).map(({ act }) => act);
    expect(acts).toEqual(["token_created", "token_revoked"]);
  });
});

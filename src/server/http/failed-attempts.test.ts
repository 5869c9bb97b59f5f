import { afterEach, describe, expect, it } from "vitest";
import {
  ATTEMPT_ADDRESSES_MAX,
  ATTEMPTS_FAILED_MAX,
  ATTEMPTS_WINDOW_MS,
  KEY_SET_RETRY_MS,
  SUSPECTS_MAX,
} from "../../core/limits.ts";
import { IdentityWorld } from "../identity/identity.fixture.ts";
import { fileOf, Issuer, KeyServer, wayBy } from "../identity/jwt.fixture.ts";
import { json } from "./answer.ts";
import {
  type Authenticator,
  byToken,
  type Identified,
  sharedToken,
  UNKNOWN_CALLER,
} from "./authenticator.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import { answering, bodyOf, closeServers, serve } from "./server.fixture.ts";

afterEach(closeServers);

class Attempts {
  nowMs = 1_000_000;
  readonly attempts = new FailedAttempts(() => this.nowMs);

  fail(address: string, times = ATTEMPTS_FAILED_MAX, authorization = "Bearer wrong") {
    for (let n = 0; n < times; n += 1) this.attempts.failed(address, authorization);
    return this;
  }

  waits(address: string, authorization = "Bearer next") {
    return this.attempts.waitMs(address, authorization);
  }
}

describe("failed attempts", () => {
  it("are free up to their number; then the address waits for the rest of the window", () => {
    const world = new Attempts().fail("192.0.2.1", ATTEMPTS_FAILED_MAX - 1);
    world.nowMs += 20_000;
    expect(world.waits("192.0.2.1")).toBeNull();
    world.fail("192.0.2.1", 1);
    expect(world.waits("192.0.2.1")).toBe(ATTEMPTS_WINDOW_MS - 20_000);
    world.nowMs += ATTEMPTS_WINDOW_MS - 20_000;
    expect(world.waits("192.0.2.1")).toBeNull();
    world.fail("192.0.2.1", 1);
    expect(world.waits("192.0.2.1")).toBeNull();
  });

  it("are one address's, and a whole network's where everybody has one", () => {
    const world = new Attempts().fail("192.0.2.1").fail("2001:db8:1:2:3::4").fail("fe80::1");
    expect(world.waits("192.0.2.2")).toBeNull();
    expect(world.waits("2001:db8:1:2:ffff:1:2:3")).not.toBeNull();
    expect(world.waits("2001:db8:1:3:3::4")).toBeNull();
    expect(world.waits("fe80::2")).not.toBeNull();
    expect(world.waits("::1")).toBeNull();
  });

  it("are not pardoned by somebody's success", () => {
    const world = new Attempts().fail("192.0.2.1", ATTEMPTS_FAILED_MAX - 1);
    world.attempts.succeeded("Bearer good");
    world.fail("192.0.2.1", 1);
    expect(world.waits("192.0.2.1")).not.toBeNull();
  });

  it("of one do not keep others out whose token has been good before", () => {
    const world = new Attempts();
    world.attempts.succeeded("Bearer good");
    world.fail("192.0.2.1");
    expect(world.waits("192.0.2.1", "Bearer good")).toBeNull();
    expect(world.waits("192.0.2.1", "Bearer unknown")).not.toBeNull();
    world.fail("192.0.2.1", 1, "Bearer good");
    expect(world.waits("192.0.2.1", "Bearer good")).not.toBeNull();
  });

  it("are over when the clock is set back, and not only when it has come so far again", () => {
    const world = new Attempts().fail("192.0.2.1");
    world.nowMs -= 86_400_000;
    expect(world.waits("192.0.2.1")).toBeNull();
    world.fail("192.0.2.1", ATTEMPTS_FAILED_MAX - 1);
    expect(world.waits("192.0.2.1")).toBeNull();
    world.fail("192.0.2.1", 1);
    expect(world.waits("192.0.2.1")).toBe(ATTEMPTS_WINDOW_MS);
  });

  it("are not made by whoever sends nothing", () => {
    const world = new Attempts();
    for (let n = 0; n < 50; n += 1) world.attempts.failed("192.0.2.1", undefined);
    expect(world.waits("192.0.2.1")).toBeNull();
  });

  it("P10: are known of so many addresses; the first makes room", () => {
    const world = new Attempts().fail("192.0.2.1");
    for (let n = 1; n < ATTEMPT_ADDRESSES_MAX; n += 1) world.fail(`a${n}`, 1);
    expect(world.waits("192.0.2.1")).not.toBeNull();
    world.fail("one more", 1);
    expect(world.waits("192.0.2.1")).toBeNull();
  });
});

describe("a server that is being guessed at", () => {
  const ROUTES = [answering("/thing", async () => json(200, {}))];
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it("answers 429 with a time, also to the right guess, but not to who is known", async () => {
    const world = await serve(ROUTES, { token: "right" });
    for (let n = 0; n < ATTEMPTS_FAILED_MAX; n += 1) {
      expect((await world.ask("/thing", bearer(`guess-${n}`))).status).toBe(401);
    }
    const answer = await world.ask("/thing", bearer("right"));
    expect(answer.status).toBe(429);
    expect(bodyOf(answer)).toMatchObject({ code: "too_many_attempts" });
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(50);
    expect((await world.ask("/thing")).status).toBe(401);
    const known = await serve(ROUTES, { token: "right" });
    expect((await known.ask("/thing", bearer("right"))).status).toBe(200);
    for (let n = 0; n < 20; n += 1) await known.ask("/thing", bearer(`guess-${n}`));
    expect((await known.ask("/thing", bearer("guess"))).status).toBe(429);
    expect((await known.ask("/thing", bearer("right"))).status).toBe(200);
  });

  it("counts guesses that come together one by one", async () => {
    const world = await serve(ROUTES, { token: "right" });
    const guess = (n: number, last: boolean) =>
      `GET /thing HTTP/1.1\r\nHost: localhost:${world.port}\r\n` +
      `Authorization: Bearer guess-${n}\r\n${last ? "Connection: close\r\n" : ""}\r\n`;
    const all = Array.from({ length: 40 }, (_, n) => guess(n, n === 39)).join("");
    const said = await world.speak(all);
    expect(said.match(/HTTP\/1.1 401/g)).toHaveLength(ATTEMPTS_FAILED_MAX);
    expect(said.match(/HTTP\/1.1 429/g)).toHaveLength(40 - ATTEMPTS_FAILED_MAX);
  });

  it("still lets in who has what nobody can guess, new as they may be", async () => {
    const identity = await IdentityWorld.open();
    const issuer = await Issuer.make();
    const { way: jwt } = await wayBy(fileOf(issuer.jwk));
    const ways = [sharedToken("right"), identity.way, jwt];
    const world = await serve(ROUTES, { token: "right" }, { authenticator: byToken(ways) });
    const statusOf = async (token: string) => (await world.ask("/thing", bearer(token))).status;
    for (let n = 0; n < ATTEMPTS_FAILED_MAX; n += 1) await statusOf(`guess-${n}`);
    const { text, kept } = await identity.token("ada", "member");
    const forger = await Issuer.make();
    const bad = [`${text.slice(0, -1)}-`, text.replace(kept.id, "0".repeat(16)), "right"];
    for (const token of [...bad, await forger.sign()]) expect(await statusOf(token)).toBe(429);
    expect(await statusOf(text)).toBe(200);
    expect(await statusOf(await issuer.sign())).toBe(200);
  });

  it("P10: looks at the tokens of so many suspects at a time; others come again", async () => {
    const looked = Promise.withResolvers<Identified>();
    const asked = { count: 0 };
    const slow: Authenticator = {
      authenticate: (token) => {
        if (!token.startsWith("slow")) return UNKNOWN_CALLER;
        asked.count += 1;
        return looked.promise;
      },
    };
    const world = await serve(ROUTES, { token: "right" }, { authenticator: byToken([slow]) });
    for (let n = 0; n < ATTEMPTS_FAILED_MAX; n += 1) await world.ask("/thing", bearer(`no-${n}`));
    const waiting = Array.from({ length: SUSPECTS_MAX }, (_, n) => {
      return world.ask("/thing", bearer(`slow-${n}`));
    });
    await expect.poll(() => asked.count).toBe(SUSPECTS_MAX);
    const late = await world.ask("/thing", bearer("slow-too"));
    expect([late.status, late.headers["retry-after"]]).toEqual([429, "1"]);
    looked.resolve(UNKNOWN_CALLER);
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(429);
    expect((await world.ask("/thing", bearer("slow-again"))).headers["retry-after"]).not.toBe("1");
    expect(asked.count).toBe(SUSPECTS_MAX + 1);
  });

  it("does not count who comes with a key that the issuer may have added just now", async () => {
    const issuer = await Issuer.make();
    const keys = await KeyServer.open(issuer.jwk);
    const { way, world: time } = await wayBy(keys.url);
    const authenticator = byToken([sharedToken("right"), way]);
    const world = await serve(ROUTES, { token: "right" }, { authenticator });
    const statusOf = async (token: string) => (await world.ask("/thing", bearer(token))).status;
    expect(await statusOf(await issuer.sign())).toBe(200);
    const next = await Issuer.make("ES256", "k2");
    keys.answer = { status: 200, body: JSON.stringify({ keys: [issuer.jwk, next.jwk] }) };
    const token = await next.sign();
    for (let n = 0; n < 2 * ATTEMPTS_FAILED_MAX; n += 1) expect(await statusOf(token)).toBe(401);
    expect(await statusOf("right")).toBe(200);
    time.nowMs += KEY_SET_RETRY_MS;
    expect(await statusOf(token)).toBe(200);
  });

  it("is none that needs no token", async () => {
    const world = await serve(ROUTES);
    for (let n = 0; n < 20; n += 1) {
      expect((await world.ask("/thing", bearer(`guess-${n}`))).status).toBe(200);
    }
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { RATE_KEYS_MAX, RATE_SWEEP_MS } from "../../core/limits.ts";
import { ok } from "../../core/result.ts";
import { byToken } from "./authenticator.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { bodyOf, closeServers, mirror, serve } from "./server.fixture.ts";

afterEach(closeServers);

const LIMIT = { max: { prompt: 2, mutation: 3, read: 4 }, windowMs: 1_000 };

function limiterAt(clock: { nowMs: number }) {
  return new RateLimiter(LIMIT, () => clock.nowMs);
}

describe("a limit of rates", () => {
  it("lets so many through at once, and then as many as time brings back", () => {
    const clock = { nowMs: 0 };
    const limiter = limiterAt(clock);
    const taken = () => limiter.take("prompt", "ada");
    expect([taken(), taken(), taken()]).toEqual([null, null, { limit: 2, retryAfterMs: 500 }]);
    clock.nowMs += 499;
    expect(taken()).toEqual({ limit: 2, retryAfterMs: 1 });
    clock.nowMs += 1;
    expect([taken(), taken()]).toEqual([null, { limit: 2, retryAfterMs: 500 }]);
    clock.nowMs += 1_000_000;
    expect([taken(), taken(), taken()].filter((one) => one === null).length).toBe(2);
    expect(limiter.hits).toEqual({ prompt: 4, mutation: 0, read: 0 });
  });

  it("counts each caller and each kind of request apart", () => {
    const limiter = limiterAt({ nowMs: 0 });
    for (let count = 0; count < 2; count += 1) limiter.take("prompt", "ada");
    expect(limiter.take("prompt", "bob")).toBeNull();
    expect(limiter.take("read", "ada")).toBeNull();
    expect(limiter.take("prompt", "ada")).not.toBeNull();
  });

  it("P10: knows only so many callers, and lets others pass until some are quiet", () => {
    const clock = { nowMs: 0 };
    const limiter = limiterAt(clock);
    for (let count = 0; count < RATE_KEYS_MAX; count += 1) limiter.take("prompt", `${count}`);
    for (let count = 0; count < 10; count += 1) expect(limiter.take("prompt", "new")).toBeNull();
    clock.nowMs += 10_000;
    const taken = [0, 1, 2].map(() => limiter.take("prompt", "new"));
    expect(taken.filter((one) => one === null).length).toBe(2);
  });

  it("does not mind a clock that is set back", () => {
    const clock = { nowMs: 10_000 };
    const limiter = limiterAt(clock);
    for (let count = 0; count < 2; count += 1) limiter.take("prompt", "ada");
    clock.nowMs = 0;
    expect(limiter.take("prompt", "ada")).toEqual({ limit: 2, retryAfterMs: 500 });
  });

  it("makes room also when the clock was set back since it last did", () => {
    const clock = { nowMs: 1_000_000_000 };
    const limiter = limiterAt(clock);
    for (let count = 0; count <= RATE_KEYS_MAX; count += 1) limiter.take("prompt", `${count}`);
    clock.nowMs = 0;
    limiter.take("prompt", "new");
    clock.nowMs += RATE_SWEEP_MS;
    const taken = [0, 1, 2].map(() => limiter.take("prompt", "new"));
    expect(taken.filter((one) => one === null).length).toBe(2);
  });
});

describe("a server that limits rates", () => {
  const routes = [
    mirror({ path: "/session/:id/prompt", rate: "prompt" }),
    mirror({ path: "/session/:id/heartbeat", rate: "exempt" }),
    mirror({ path: "/other" }),
  ];
  const rateLimit = { prompt: 1, mutation: 2, read: 1, windowMs: 60_000 };
  const ada = { "x-qwen-client-id": "ada" };

  it("says what came too often, and when to come again", async () => {
    const world = await serve(routes, { rateLimit });
    expect(await world.post("/session/s/prompt", {}, ada)).toMatchObject({ status: 200 });
    const answer = await world.post("/session/s/prompt", {}, ada);
    expect(answer.status).toBe(429);
    expect(bodyOf(answer)).toMatchObject({
      error: "Rate limit exceeded",
      code: "rate_limit_exceeded",
      tier: "prompt",
    });
    expect(answer.headers).toMatchObject({
      "retry-after": "60",
      "x-ratelimit-limit": "1",
      "x-ratelimit-remaining": "0",
    });
    const resetMs = Number(answer.headers["x-ratelimit-reset"]) * 1_000;
    expect(resetMs).toBeGreaterThan(Date.now());
    expect(world.server.rateLimitHits).toEqual({ prompt: 1, mutation: 0, read: 0 });
  });

  it("tells callers on this machine apart by their client ids", async () => {
    const world = await serve(routes, { rateLimit });
    const bob = { "x-qwen-client-id": "bob" };
    const bad = { "x-qwen-client-id": "not ok" };
    const statuses: number[] = [];
    for (const headers of [ada, bob, ada, {}, bad]) {
      statuses.push((await world.post("/session/s/prompt", {}, headers)).status);
    }
    // A malformed id is as good as none, and shares its bucket.
    expect(statuses).toEqual([200, 200, 429, 200, 429]);
  });

  it("knows a user again, whatever they call themselves, and tells tenants apart", async () => {
    const caller = (tenant: string, user: string) => {
      const [tenantId, userId] = [parseTenantId(tenant), parseUserId(user)];
      return tenantId && userId ? { tenantId, userId, role: "owner" as const } : null;
    };
    const known = new Map([
      ["one", caller("acme", "ada")],
      ["two", caller("acme", "ada")],
      ["bob", caller("acme", "bob")],
      ["other", caller("other", "ada")],
    ]);
    const way = { authenticate: (token: string) => ok(known.get(token) ?? null) };
    const world = await serve(routes, { rateLimit }, { authenticator: byToken([way]) });
    const statusOf = async (token: string, clientId: string) => {
      const headers = { authorization: `Bearer ${token}`, "x-qwen-client-id": clientId };
      return (await world.post("/session/s/prompt", {}, headers)).status;
    };
    expect(await statusOf("one", "a")).toBe(200);
    expect(await statusOf("one", "b")).toBe(429);
    expect(await statusOf("two", "a")).toBe(429);
    expect(await statusOf("bob", "a")).toBe(200);
    expect(await statusOf("other", "a")).toBe(200);
  });

  it("does not count health, heartbeats and preflights", async () => {
    const world = await serve(routes, { rateLimit });
    for (let count = 0; count < 5; count += 1) {
      expect(await world.ask("/health")).toMatchObject({ status: 200 });
      expect(await world.post("/session/s/heartbeat", {})).toMatchObject({ status: 200 });
      expect(await world.ask("/other", { method: "OPTIONS" })).toMatchObject({ status: 204 });
    }
  });

  it("counts what leads nowhere too", async () => {
    const world = await serve(routes, { rateLimit });
    expect(await world.ask("/nothing")).toMatchObject({ status: 404 });
    expect(await world.ask("/nothing")).toMatchObject({ status: 429 });
  });

  it("is not this one unless it is told so", async () => {
    const world = await serve(routes);
    for (let count = 0; count < 50; count += 1) {
      expect(await world.post("/session/s/prompt", {})).toMatchObject({ status: 200 });
    }
    expect(world.server.rateLimitHits).toBeNull();
  });
});

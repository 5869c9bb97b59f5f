import { describe, expect, it } from "vitest";
import { REAL_CLOCK } from "../../session/world.fixture.ts";
import type { Caller } from "../http/route.ts";
import { StreamClient } from "../http/stream-client.fixture.ts";
import { AS_ADA, AS_BEN, balance, granted, monthly, openPaid } from "./credits.fixture.ts";
import { heard, Work, withoutError } from "./work.fixture.ts";

const HOUR_MS = 3_600_000;
const NOV_16 = Date.UTC(2026, 10, 16);
const DEC_1 = Date.UTC(2026, 11, 1);
const RENEWED = "2026-12-01T00:00:00.000Z";

/** The time of a server, which passes when a test says so; timers shorter than an hour are real. */
class Calendar {
  now = NOV_16;
  readonly #held = new Map<() => void, number>();

  readonly clock = {
    nowMs: () => this.now,
    after: (ms: number, act: () => void) => {
      if (ms < HOUR_MS) return REAL_CLOCK.after(ms, act);
      const run = () => act();
      this.#held.set(run, this.now + ms);
      return () => this.#held.delete(run);
    },
  };

  /** When the long waits end. */
  get waits(): readonly number[] {
    return [...this.#held.values()];
  }

  set(nowMs: number) {
    this.now = nowMs;
    const due = [...this.#held].filter(([, atMs]) => atMs <= nowMs);
    for (const [act] of due) this.#held.delete(act);
    for (const [act] of due) act();
  }
}

async function opened() {
  const calendar = new Calendar();
  const { clock } = calendar;
  const world = await openPaid({ world: { clock }, nowMs: clock.nowMs });
  await granted(world, 1_000);
  const work = await Work.made(world);
  const me = async (as: Caller) => (await world.call("GET", "/credits/me", { as })).body;
  return { calendar, world, work, me };
}

describe("P9: a budget of a month", () => {
  it.each(["user:ada", "tenant", "session"])(
    "of %s counts what was charged in this month, and is renewed with the next",
    async (scope) => {
      const { calendar, world, work } = await opened();
      const name = scope === "session" ? `session:${work.id}` : scope;
      expect((await monthly(world, name, 25)).status).toBe(200);
      await work.turn("usage 1 2 input=20", { as: AS_ADA });
      const refused = await work.prompt("say more", { as: AS_ADA });
      expect(refused.status).toBe(402);
      expect(withoutError(refused.body)).toMatchObject({
        code: "insufficient_credits",
        neededMicro: 10,
        availableMicro: 5,
        scope: scope.split(":")[0],
        period: "month",
        renewsAt: RENEWED,
      });
      expect(refused.body.error).toContain(`for 2026-11, which is renewed at ${RENEWED}`);
      calendar.set(DEC_1);
      await work.turn("usage 1 2 input=7", { as: AS_ADA });
      expect(await balance(world)).toMatchObject({
        chargedMicro: 27,
        month: { name: "2026-12", chargedMicro: 7, renewsAt: "2027-01-01T00:00:00.000Z" },
      });
    },
  );

  it("lets a waiting prompt go on when the month turns, by a timer that it owns", async () => {
    const { calendar, world, work } = await opened();
    await monthly(world, "user:ada", 25);
    const stream = await work.stream({ "last-event-id": "0" });
    await work.admitted("usage 1 2 input=20\nask command=ls", { as: AS_ADA });
    const asked = await heard(stream, "permission_request");
    const second = await work.admitted("say second", { as: AS_ADA });
    const body = { outcome: { outcome: "cancelled" } };
    await work.call("POST", `/permission/${asked.data.data.requestId}`, { body });
    const waiting = await heard(stream, "credits_waiting");
    expect(waiting.data.data).toMatchObject({
      promptId: second,
      scope: "user",
      period: "month",
      renewsAt: RENEWED,
    });
    // Half a month is waited for in parts of an hour.
    expect(calendar.waits).toEqual([NOV_16 + HOUR_MS]);
    calendar.set(DEC_1);
    await heard(stream, "turn_complete", second);
    expect(calendar.waits).toEqual([]);
  });

  it("counts a turn in the month in which it was charged, and what it holds in each", async () => {
    const { calendar, world, work, me } = await opened();
    await monthly(world, "user:ada", 25);
    const stream = await work.stream({ "last-event-id": "0" });
    await work.admitted("usage 1 2 input=8\nask command=ls", { as: AS_ADA });
    const asked = await heard(stream, "permission_request");
    calendar.set(DEC_1);
    expect(await me(AS_ADA)).toMatchObject({
      month: { name: "2026-12", chargedMicro: 0 },
      openMicro: 10,
      leftMicro: 15,
    });
    const body = { outcome: { outcome: "cancelled" } };
    await work.call("POST", `/permission/${asked.data.data.requestId}`, { body });
    await heard(stream, "turn_complete");
    expect(await me(AS_ADA)).toMatchObject({ month: { chargedMicro: 8 }, leftMicro: 17 });
    calendar.set(NOV_16);
    expect(await me(AS_ADA)).toMatchObject({ month: { chargedMicro: 0 }, leftMicro: 25 });
  });
});

describe("GET /credits/me", () => {
  it("shows a user their own budgets and use, in this month and in total", async () => {
    const { calendar, world, work, me } = await opened();
    await work.turn("usage 1 2 input=20", { as: AS_ADA });
    calendar.set(DEC_1);
    await work.turn("usage 1 2 input=5", { as: AS_ADA });
    await monthly(world, "user:ada", 30);
    await world.call("POST", "/credits/budgets/user:ada", { body: { budgetMicro: 40 } });
    const viewer: Caller = { ...AS_ADA, role: "viewer" };
    expect(await me(viewer)).toEqual({
      user: "ada",
      month: { name: "2026-12", chargedMicro: 5, renewsAt: "2027-01-01T00:00:00.000Z" },
      total: { chargedMicro: 25 },
      openMicro: 0,
      budgets: [
        { scope: "user:ada", period: "total", budgetMicro: 40, usedMicro: 25, leftMicro: 15 },
        {
          scope: "user:ada",
          period: "month",
          budgetMicro: 30,
          usedMicro: 5,
          leftMicro: 25,
          renewsAt: "2027-01-01T00:00:00.000Z",
        },
      ],
      leftMicro: 15,
    });
    expect(await me({ ...AS_BEN, role: "member" })).toMatchObject({
      user: "ben",
      total: { chargedMicro: 0 },
      budgets: [],
      leftMicro: null,
    });
  });

  it("is about the tenant for a caller that is no user and may read its credits", async () => {
    const { world, work, me } = await opened();
    await work.turn("usage 1 2 input=20", { as: AS_ADA });
    await monthly(world, "tenant", 100);
    const operator: Caller = { ...AS_ADA, userId: null };
    expect(await me(operator)).toMatchObject({ user: null, total: { chargedMicro: 20 } });
    const guest: Caller = { ...operator, role: "viewer" };
    const refused = await world.call("GET", "/credits/me", { as: guest });
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
  });
});

describe("at 80 % of a budget", () => {
  it("P8: the tenant's stream warns who may read credits, and whose budget it is", async () => {
    const { world, work } = await opened();
    await monthly(world, "user:ada", 25);
    await monthly(world, "tenant", 25);
    const streamOf = async (as: Caller) => {
      const token = Buffer.from(JSON.stringify(as)).toString("base64");
      const stream = await StreamClient.open(world, "/events", {
        authorization: `Bearer ${token}`,
      });
      await heard(stream, "replay_complete");
      return stream;
    };
    const owner = await streamOf({ ...AS_BEN, role: "owner" });
    const admin = await streamOf({ ...AS_BEN, role: "admin" });
    const ada = await streamOf({ ...AS_ADA, role: "member" });
    const ben = await streamOf({ ...AS_BEN, role: "member" });
    const ofSession = await work.stream({ "last-event-id": "0" });
    await work.turn("usage 1 2 input=20", { as: AS_ADA });
    const figures = { period: "month", usedMicro: 20, budgetMicro: 25, renewsAt: RENEWED };
    const ofTenant = { scope: "tenant", ...figures };
    const ofAda = { scope: "user", userId: "ada", ...figures };
    const warnings = ({ frames }: StreamClient) =>
      frames.filter(({ event }) => event === "credits_warning").map(({ data }) => data.data);
    for (const stream of [owner, admin]) {
      await stream.until(() => warnings(stream).length === 2);
      expect(warnings(stream)).toEqual([ofTenant, ofAda]);
    }
    await ada.until(() => warnings(ada).length === 1);
    expect(warnings(ada)).toEqual([ofAda]);
    // A session that is made later is told after all that came before.
    const later = await Work.made(world);
    await ben.until(({ frames }) =>
      frames.some(({ data }) => JSON.stringify(data).includes(later.id)),
    );
    expect(warnings(ben)).toEqual([]);
    // Those who read the session may not read these credits: its log has no figures.
    await ofSession.until(() => warnings(ofSession).length === 2);
    const named = { sessionId: work.id, period: "month", renewsAt: RENEWED };
    expect(warnings(ofSession)).toEqual([
      { scope: "tenant", ...named },
      { scope: "user", userId: "ada", ...named },
    ]);
    const { body } = await world.call("GET", "/audit?act=credits_warning");
    expect(body.entries).toMatchObject([
      { details: { scope: "user", usedMicro: 20, budgetMicro: 25 } },
      { details: { scope: "tenant", usedMicro: 20, budgetMicro: 25 } },
    ]);
  });

  it("of a session's month it is told in its stream, once each month", async () => {
    const { calendar, world, work } = await opened();
    await monthly(world, `session:${work.id}`, 25);
    const stream = await work.stream({ "last-event-id": "0" });
    const warnings = () => stream.frames.filter(({ event }) => event === "credits_warning");
    await work.turn("usage 1 2 input=12");
    await work.turn("usage 1 2 input=8");
    await heard(stream, "credits_warning");
    calendar.set(DEC_1);
    await work.turn("usage 1 2 input=21");
    await stream.until(() => warnings().length === 2);
    expect(warnings().map(({ data }) => data.data)).toMatchObject([
      { scope: "session", period: "month", usedMicro: 20, budgetMicro: 25 },
      { scope: "session", period: "month", usedMicro: 21, budgetMicro: 25 },
    ]);
  });
});

describe("POST /credits/grants/:id/revocation", () => {
  const take = (world: Awaited<ReturnType<typeof opened>>["world"], id: string) =>
    world.call("POST", `/credits/grants/${id}/revocation`, { body: { note: "mistyped" } });

  it("P9: takes a mistaken grant back by an entry of its own, once", async () => {
    const { world } = await opened();
    const body = { amountMicro: 5_000, id: "may" };
    await world.call("POST", "/credits/grants", { body });
    for (const _ of [1, 2]) {
      const revoked = await take(world, "may");
      expect(revoked.status).toBe(200);
      expect(revoked.body).toMatchObject({ id: "may", grantedMicro: 1_000, availableMicro: 1_000 });
    }
    const { entries } = (await world.call("GET", "/credits/statement")).body;
    expect(Object(entries).slice(1)).toMatchObject([
      { kind: "grant", id: "may", amountMicro: 5_000 },
      { kind: "revoke", id: "may", amountMicro: 5_000, note: "mistyped" },
    ]);
    const again = await world.call("POST", "/credits/grants", { body });
    expect([again.status, again.body.code]).toEqual([409, "credit_grant_revoked"]);
    const unknown = await take(world, "june");
    expect([unknown.status, unknown.body.code]).toEqual([404, "credit_grant_not_found"]);
  });

  it("takes one back that is spent: nothing new begins until the debt is made up for", async () => {
    const calendar = new Calendar();
    const world = await openPaid({ world: { clock: calendar.clock }, nowMs: calendar.clock.nowMs });
    await world.call("POST", "/credits/grants", { body: { amountMicro: 30, id: "g" } });
    const work = await Work.made(world);
    await work.turn("usage 1 2 input=20");
    expect((await take(world, "g")).body).toMatchObject({ grantedMicro: 0, availableMicro: -20 });
    const refused = await work.prompt("say more");
    expect(refused.body).toMatchObject({ scope: "balance", availableMicro: 0 });
    await granted(world, 31);
    expect((await work.prompt("say more")).status).toBe(202);
  });
});

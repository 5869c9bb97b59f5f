import { describe, expect, it } from "vitest";
import { REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import { value } from "../../session/stage.fixture.ts";
import { type DaemonWorld, LOCAL } from "../daemon.fixture.ts";
import type { Caller } from "../http/route.ts";
import type { StreamClient } from "../http/stream-client.fixture.ts";
import { AS_ADA, AS_BEN, balance, budget, granted, openPaid } from "./credits.fixture.ts";
import { heard, Work, withoutError } from "./work.fixture.ts";

/** Something of ada's is at work, for which ten are set aside. */
async function atWork(grantedMicro: number) {
  const world = await openPaid();
  const work = await Work.made(world);
  await granted(world, grantedMicro);
  const stream = await work.stream({ "last-event-id": "0" });
  await work.admitted("usage 1 2 input=8\nask command=ls", { as: AS_ADA });
  const asked = await heard(stream, "permission_request");
  const ends = () =>
    work.call("POST", `/permission/${asked.data.data.requestId}`, {
      body: { outcome: { outcome: "cancelled" } },
    });
  return { world, work, stream, ends };
}

/** One prompt waits at the head for credit: ten are needed, and two are left. */
async function shortOfCredit() {
  const { world, work, stream, ends } = await atWork(10);
  const head = await work.admitted("say second", { as: AS_ADA });
  await ends();
  const waiting = await heard(stream, "credits_waiting");
  return { world, work, stream, head, waiting };
}

async function pending(work: Work) {
  const { pendingPrompts } = (await work.call("GET", "/pending-prompts")).body;
  return Object(pendingPrompts).map(({ promptId, state, waitsFor }: Record<string, unknown>) => ({
    promptId,
    state,
    waitsFor,
  }));
}

const eventsOf = (stream: StreamClient, type: string) =>
  stream.frames.filter(({ event }) => event === type);

describe("a new prompt that has to wait", () => {
  it("P9: is refused with 402 if nobody could pay for it, and stands in nobody's way", async () => {
    const { world, work, stream, ends } = await atWork(1_000);
    await budget(world, "user:ben", 0);
    const refused = await work.prompt("say ben", { as: AS_BEN });
    expect(refused.status).toBe(402);
    expect(withoutError(refused.body)).toEqual({
      code: "insufficient_credits",
      neededMicro: 10,
      availableMicro: 0,
      scope: "user",
      period: "total",
      limitedBy: "the budget of the user in total",
    });
    const second = await work.admitted("say ada", { as: AS_ADA });
    await ends();
    await heard(stream, "turn_complete", second);
    expect(work.live.session.queue).toEqual([]);
  });

  it("P9: is admitted if it can be once all is settled, and nothing is set aside", async () => {
    const { world, work, stream, ends } = await atWork(18);
    // Ten are set aside and eight are left, but what is at work costs only eight.
    const second = await work.admitted("say second", { as: AS_ADA });
    expect(await balance(world)).toMatchObject({ openMicro: 10, openTurns: 1 });
    await ends();
    await heard(stream, "turn_complete", second);
    expect(eventsOf(stream, "credits_waiting")).toEqual([]);
  });

  it("is admitted too if it came at once with the one that has taken all there is", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 15);
    const both = await Promise.all([work.prompt("hang"), work.prompt("hang")]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect(await balance(world)).toMatchObject({ openMicro: 10, openTurns: 1 });
  });

  it("is weighed by the session's budget with what was charged, not what is held", async () => {
    const { world, work } = await atWork(1_000);
    await budget(world, `session:${work.id}`, 10);
    expect((await work.prompt("say more")).status).toBe(202);
    await budget(world, `session:${work.id}`, 9);
    expect((await work.prompt("say more")).body).toMatchObject({
      scope: "session",
      availableMicro: 9,
    });
  });

  it("is refused too where nothing runs and the head waits for credit already", async () => {
    const { work, head } = await shortOfCredit();
    const refused = await work.prompt("say third", { as: AS_ADA });
    expect(refused.status).toBe(402);
    expect(refused.body).toMatchObject({ scope: "balance", availableMicro: 2 });
    expect(work.live.session.queue.map(({ promptId }) => promptId)).toEqual([head]);
  });

  it("is refused too if it was meant for an agent at work that cannot listen", async () => {
    const { world, work } = await atWork(1_000);
    await budget(world, "user:ben", 0);
    const say = (message: string, as: Caller) =>
      work.call("POST", "/mid-turn-message", { body: { message }, as });
    expect(await say("say more", AS_BEN)).toMatchObject({ status: 402, body: { scope: "user" } });
    const accepted = { status: 200, body: { accepted: true } };
    expect(await say("say more", AS_ADA)).toMatchObject(accepted);
    // What a line with a slash costs, if anything, is found out when it is next.
    expect(await say("/skills", AS_BEN)).toMatchObject(accepted);
  });

  it("is taken if it is a repeat, or a command, which costs nothing", async () => {
    const { world, work } = await atWork(1_000);
    const headers = { "idempotency-key": "once" };
    const first = await work.prompt("say once", { headers, as: AS_BEN });
    await budget(world, "user:ben", 0);
    expect(await work.prompt("say once", { headers, as: AS_BEN })).toMatchObject({
      status: 202,
      body: first.body,
    });
    expect((await work.prompt("/skills", { as: AS_BEN })).status).toBe(202);
    expect((await work.prompt("say other", { as: AS_BEN })).status).toBe(402);
  });
});

describe("a prompt that waits for credit", () => {
  it("is announced with what it waits for, once, and is listed so", async () => {
    const { world, work, stream, head, waiting } = await shortOfCredit();
    const short = { code: "insufficient_credits", scope: "balance" };
    const data = { ...short, neededMicro: 10, availableMicro: 2 };
    expect(waiting.data.data).toMatchObject({ promptId: head, ...data });
    expect(await pending(work)).toEqual([{ promptId: head, state: "queued", waitsFor: data }]);
    await granted(world, 3);
    const more = { ...data, availableMicro: 5 };
    await expect.poll(() => pending(work)).toMatchObject([{ waitsFor: more }]);
    expect(eventsOf(stream, "credits_waiting")).toHaveLength(1);
    await granted(world, 5);
    await heard(stream, "turn_complete", head);
    expect(eventsOf(stream, "credits_waiting")).toHaveLength(1);
    expect(await pending(work)).toEqual([]);
  });

  it("is the only one that is listed so: what is behind it waits for its turn", async () => {
    const { work, stream, ends } = await atWork(10);
    const head = await work.admitted("say second", { as: AS_ADA });
    const behind = await work.admitted("say third", { as: AS_ADA });
    await ends();
    await heard(stream, "credits_waiting");
    expect(await pending(work)).toMatchObject([
      { promptId: head, waitsFor: { scope: "balance" } },
      { promptId: behind, waitsFor: null },
    ]);
  });

  it("is announced again when it is another limit that it waits for", async () => {
    const { world, work, stream, head } = await shortOfCredit();
    await budget(world, "user:ada", 1);
    await granted(world, 100);
    await stream.until(() => eventsOf(stream, "credits_waiting").length === 2);
    const [, second] = eventsOf(stream, "credits_waiting");
    expect(second?.data.data).toMatchObject({ promptId: head, scope: "user", availableMicro: 0 });
    expect(await pending(work)).toMatchObject([{ promptId: head, waitsFor: { scope: "user" } }]);
  });
});

describe("the audit of a session that costs", () => {
  async function refusals(world: DaemonWorld) {
    const query = { journal: "audit", after: 0, limit: 1_000 } as const;
    const page = value(await world.daemon.world.store.readJournal(LOCAL.tenantId, query));
    const entries = page.rows.map(({ text }) => JSON.parse(text));
    return entries.filter(({ accepted }) => accepted === false);
  }

  it("is told of a prompt that was refused with 402, by whom and for want of what", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    expect((await work.prompt("say hello", { as: AS_ADA })).status).toBe(402);
    expect(await refusals(world)).toMatchObject([
      {
        act: "command_refused",
        cause: "prompt",
        actor: { kind: "client", userId: "ada" },
        code: "insufficient_credits",
        details: { scope: "balance", neededMicro: 10, availableMicro: 0 },
      },
    ]);
  });

  it("P10: has only the beginning of a flood of them", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    for (let n = 0; n < REFUSALS_AUDITED_MAX + 5; n += 1) {
      expect((await work.prompt("say hello", { as: AS_ADA })).status).toBe(402);
    }
    expect(await refusals(world)).toHaveLength(REFUSALS_AUDITED_MAX);
  });
});

import { describe, expect, it } from "vitest";
import { parseTenantId } from "../../core/id.ts";
import { SESSION_IDLE_MS } from "../../core/limits.ts";
import { value } from "../../session/stage.fixture.ts";
import { given } from "../../session/world.fixture.ts";
import { LOCAL } from "../daemon.fixture.ts";
import { AS_ADA, balance, calls, granted, openPaid } from "./credits.fixture.ts";
import { heard, Work, withoutError } from "./work.fixture.ts";

describe("a session that costs", () => {
  it("P9: refuses a prompt without credit with 402, stays ready, and works with it", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    const refused = await work.prompt("say hello");
    expect(refused.status).toBe(402);
    expect(withoutError(refused.body)).toEqual({
      code: "insufficient_credits",
      neededMicro: 10,
      availableMicro: 0,
      scope: "balance",
      limitedBy: "the balance of the tenant",
    });
    expect(work.live.session.connection.sessionState).toBe("ready");
    expect(work.live.session.queue).toEqual([]);
    await granted(world, 10);
    await work.turn("usage 1 2 input=4");
    expect(await balance(world)).toMatchObject({
      grantedMicro: 10,
      chargedMicro: 4,
      openMicro: 0,
      availableMicro: 6,
    });
  });

  it("refuses it with 402 also while the session rests without an agent", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    world.stage.aheadMs += SESSION_IDLE_MS;
    await world.daemon.host.reapIdle();
    expect(world.daemon.host.liveOf(LOCAL.tenantId)).toEqual([]);
    const refused = await work.prompt("say hello");
    expect([refused.status, refused.body.code]).toEqual([402, "insufficient_credits"]);
    const { session } = value(await world.daemon.host.find(work.live.key));
    expect([session.queue, session.connection.sessionState]).toEqual([[], "inactive"]);
  });

  it("keeps a prompt that waits at the head, and goes on when credit is raised", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 10);
    const stream = await work.stream({ "last-event-id": "0" });
    await work.admitted("usage 1 2 input=8\nask command=ls");
    const asked = await heard(stream, "permission_request");
    const second = await work.admitted("say second");
    await work.call("POST", `/permission/${asked.data.data.requestId}`, {
      body: { outcome: { outcome: "cancelled" } },
    });
    await heard(stream, "credits_settled");
    await work.live.until(({ running, queue }) => running === null && queue.length === 1);
    expect(await balance(world)).toMatchObject({ availableMicro: 2, openMicro: 0 });
    await granted(world, 8);
    await heard(stream, "turn_complete", second);
    // Of the second the agent tells no tokens, so that its reserve is charged.
    expect(await balance(world)).toMatchObject({ chargedMicro: 18, openMicro: 0 });
    const turn = await world.call("GET", `/session/${work.id}/turns/${second}?wait=1s`);
    expect(turn.body).toMatchObject({ cost: { chargedMicro: 10, usage: "unknown" } });
  });

  it("gets another slice in mid-turn, and ends with budget_exhausted without one", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 30);
    const stream = await work.stream({ "last-event-id": "0" });
    const promptId = await work.admitted([calls(15), calls(100), "sleep 60000"].join("\n"));
    const verdict = await heard(stream, "turn_error", promptId);
    expect(verdict.data.data.code).toBe("budget_exhausted");
    const settled = await heard(stream, "credits_settled");
    const { reservedMicro, chargedMicro, releasedMicro } = settled.data.data;
    expect(reservedMicro).toBe(Number(chargedMicro) + Number(releasedMicro));
    expect(await balance(world)).toMatchObject({ chargedMicro, openMicro: 0, openTurns: 0 });
  });

  it("is held to its own budget in mid-turn, by all that its turn has set aside", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 1_000);
    const path = `/credits/budgets/session:${work.id}`;
    await world.call("POST", path, { body: { budgetMicro: 30 } });
    const stream = await work.stream({ "last-event-id": "0" });
    // What is missing would fit into the budget, but not beside what the turn holds already.
    const promptId = await work.admitted([calls(35), "hang"].join("\n"));
    const verdict = await heard(stream, "turn_error", promptId);
    expect(verdict.data.data.code).toBe("budget_exhausted");
    expect(await balance(world)).toMatchObject({ chargedMicro: 35, openMicro: 0 });
  });

  it("is warned at 80 % of its own budget, and refused beyond it", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 1_000);
    const path = `/credits/budgets/session:${work.id}`;
    const set = await world.call("POST", path, { body: { budgetMicro: 20 } });
    expect(set).toMatchObject({ status: 200, body: { budgetMicro: 20 } });
    const stream = await work.stream({ "last-event-id": "0" });
    await work.turn("usage 1 2 input=17");
    const warning = await heard(stream, "credits_warning");
    expect(warning.data.data).toMatchObject({ scope: "session", usedMicro: 17, budgetMicro: 20 });
    expect((await work.prompt("say more")).status).toBe(402);
    await world.call("POST", path, { body: { budgetMicro: null } });
    expect((await work.prompt("say more")).status).toBe(202);
  });

  it("answers a repeated prompt as before, though there is no credit any more", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 10);
    const headers = { "idempotency-key": "once" };
    const first = await work.prompt("usage 1 2 input=9", { headers });
    await work.live.until(({ running }) => running === null);
    expect(await work.prompt("usage 1 2 input=9", { headers })).toMatchObject({
      status: 202,
      body: first.body,
    });
  });
});

describe("the routes of credits", () => {
  it.each([-1, 0, 1.5, "10", 2 ** 53, null])("take no grant of %s", async (amountMicro) => {
    const world = await openPaid();
    const { status, body } = await world.call("POST", "/credits/grants", { body: { amountMicro } });
    expect([status, body.code]).toEqual([400, "invalid_amount"]);
    expect(await balance(world)).toMatchObject({ grantedMicro: 0 });
  });

  it("book a grant once, however often it is sent", async () => {
    const world = await openPaid();
    const body = { amountMicro: 5, id: "invoice-7", note: "May" };
    for (const _ of [1, 2]) {
      expect((await world.call("POST", "/credits/grants", { body })).status).toBe(200);
    }
    expect(await balance(world)).toMatchObject({ grantedMicro: 5 });
    const other = { ...body, amountMicro: 6 };
    expect((await world.call("POST", "/credits/grants", { body: other })).status).toBe(409);
  });

  it("know budgets of the tenant and of users, and nothing else", async () => {
    const world = await openPaid();
    const put = (scope: string) =>
      world.call("POST", `/credits/budgets/${scope}`, { body: { budgetMicro: 9 } });
    await put("tenant");
    expect((await put("user:ada")).body.budgets).toEqual([
      { scope: "tenant", period: "total", budgetMicro: 9, usedMicro: 0, leftMicro: 9 },
      { scope: "user:ada", period: "total", budgetMicro: 9, usedMicro: 0, leftMicro: 9 },
    ]);
    expect((await put("session:none")).status).toBe(404);
    expect((await put("planet:earth")).status).toBe(400);
  });

  it("tell the audit who changed what, and a grant once", async () => {
    const world = await openPaid();
    const body = { amountMicro: 5, id: "g" };
    for (const _ of [1, 2]) await world.call("POST", "/credits/grants", { body, as: AS_ADA });
    await world.call("POST", "/credits/limit", { body: { limit: "unlimited" }, as: AS_ADA });
    await world.call("POST", "/credits/budgets/user:ada", { body: { budgetMicro: 9 } });
    const query = { journal: "audit", after: 0, limit: 100 } as const;
    const page = value(await world.daemon.world.store.readJournal(LOCAL.tenantId, query));
    const ada = { kind: "client", userId: "ada" };
    expect(page.rows.map(({ text }) => JSON.parse(text))).toMatchObject([
      { act: "credits_granted", actor: ada, details: { id: "g", amountMicro: 5 } },
      { act: "credits_limit_set", actor: ada, details: { limit: "unlimited" } },
      { act: "credits_budget_set", details: { of: "user", userId: "ada", budgetMicro: 9 } },
    ]);
  });

  it("state what became of the credits, as JSON by pages and as a CSV file", async () => {
    const world = await openPaid();
    const work = await Work.made(world);
    const note = '=1+1, "so"';
    await world.call("POST", "/credits/grants", { body: { amountMicro: 50, id: "g", note } });
    await work.turn("usage 1 2 input=4", { as: AS_ADA });
    const first = await world.call("GET", "/credits/statement?limit=2");
    expect(first.body).toMatchObject({
      hasMore: true,
      nextAfter: 2,
      entries: [
        { seq: 1, kind: "grant", id: "g", amountMicro: 50, note },
        { seq: 2, kind: "reserve", amountMicro: 10, sessionId: work.id },
      ],
    });
    const rest = await world.call("GET", "/credits/statement?after=2");
    expect(rest.body).toMatchObject({
      hasMore: false,
      entries: [
        { kind: "charge", amountMicro: 4, userId: "ada", agent: "echo", tokens: { input: 4 } },
        { kind: "release", amountMicro: 6 },
      ],
    });
    const { text, headers } = await world.call("GET", "/credits/statement?format=csv");
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8");
    const lines = text.trimEnd().split("\r\n");
    expect(lines).toHaveLength(5);
    expect(lines[1]).toContain(`"'=1+1, ""so"""`);
  });

  it("state what became of them in a period, as usage takes one", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const world = await openPaid();
    for (const id of ["a", "b", "c"]) {
      await world.call("POST", "/credits/grants", { body: { amountMicro: 5, id } });
    }
    const seqs = async (query: string) => {
      const { body } = await world.call("GET", `/credits/statement?${query}`);
      return { seqs: Object(body.entries).map(({ seq }: { seq: number }) => seq), ...body };
    };
    expect(await seqs(`from=${today}`)).toMatchObject({ seqs: [1, 2, 3], hasMore: false });
    expect(await seqs(`from=${today}&limit=2`)).toMatchObject({ seqs: [1, 2], nextAfter: 2 });
    expect(await seqs(`from=${today}&limit=2&after=2`)).toMatchObject({ seqs: [3] });
    expect(await seqs(`to=${today}`)).toMatchObject({ seqs: [], hasMore: false });
    expect(await seqs("from=2999-01-01")).toMatchObject({ seqs: [], hasMore: false });
    const csv = async (query: string) => {
      const { text } = await world.call("GET", `/credits/statement?format=csv&${query}`);
      return text.trimEnd().split("\r\n").length - 1;
    };
    expect([await csv(`from=${today}`), await csv(`to=${today}`)]).toEqual([3, 0]);
    for (const query of [
      "from=soon",
      "to=2026-02-31",
      "from=2026-05-02&to=2026-05-01",
      "format=csv&from=x",
    ]) {
      const { status, body } = await world.call("GET", `/credits/statement?${query}`);
      expect([status, body.code]).toEqual([400, "invalid_request"]);
    }
    expect((await seqs("unknown=1")).seqs).toEqual([1, 2, 3]);
  });

  it("say by which rule an id is one of a grant", async () => {
    const world = await openPaid();
    const body = { amountMicro: 5, id: "a b" };
    const { status, body: answer } = await world.call("POST", "/credits/grants", { body });
    expect([status, answer.code]).toEqual([400, "invalid_request"]);
    expect(answer.error).toContain("1 to 128 letters, digits and . _ : -");
  });

  it.each([
    ["user", "ada"],
    ["agent", "echo"],
    ["model", "echo-small"],
    ["day", expect.stringMatching(/^\d{4}-\d\d-\d\d$/)],
  ])("count usage by %s", async (by, name) => {
    const world = await openPaid();
    const work = await Work.made(world);
    await granted(world, 100);
    for (const input of [3, 4]) await work.turn(`usage 1 2 input=${input}`, { as: AS_ADA });
    const { body } = await world.call("GET", `/credits/usage?by=${by}`);
    const tokens = { input: 7, output: 0 };
    expect(body.groups).toMatchObject([
      { name, turns: 2, chargedMicro: 7, unpricedTurns: 0, tokens },
    ]);
    const none = await world.call("GET", `/credits/usage?by=${by}&to=2001-01-01`);
    expect(none.body.groups).toEqual([]);
  });

  it("count usage by session", async () => {
    const world = await openPaid();
    await granted(world, 100);
    const [one, other] = [await Work.made(world), await Work.made(world)];
    await one.turn("usage 1 2 input=3");
    for (const input of [4, 5]) await other.turn(`usage 1 2 input=${input}`);
    const { groups } = (await world.call("GET", "/credits/usage?by=session")).body;
    const expected = [
      { name: one.id, turns: 1, chargedMicro: 3 },
      { name: other.id, turns: 2, chargedMicro: 9 },
    ];
    expect(groups).toMatchObject(expected.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
  });

  it.each(["by=planet", "from=yesterday", "to=2026-13-45"])(
    "refuse a report of %s",
    async (query) => {
      const world = await openPaid();
      expect((await world.call("GET", `/credits/usage?${query}`)).status).toBe(400);
    },
  );

  it("P8: show a tenant its own credits only, and change them for owners only", async () => {
    const world = await openPaid();
    await granted(world, 7);
    const other = { ...LOCAL, tenantId: given(parseTenantId("elsewhere")) };
    const { body } = await world.call("GET", "/credits", { as: other });
    expect(body).toMatchObject({ grantedMicro: 0 });
    for (const role of ["admin", "member", "viewer"] as const) {
      expect((await granted(world, 7, { as: { ...LOCAL, role } })).status).toBe(403);
    }
    const member = { ...LOCAL, role: "member" } as const;
    expect((await world.call("GET", "/credits", { as: member })).status).toBe(403);
  });
});

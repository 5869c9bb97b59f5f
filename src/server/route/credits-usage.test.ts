import { describe, expect, it } from "vitest";
import { PriceTable } from "../../session/meter/index.ts";
import { balance, budget, calls, granted, openPaid } from "./credits.fixture.ts";
import { heard, Work } from "./work.fixture.ts";

const update = (more: object) =>
  `update ${JSON.stringify({ sessionUpdate: "usage_update", used: 1, size: 2, ...more })}`;

const cost = (amount: number, currency = "USD") => update({ cost: { amount, currency } });

async function opened(options: Parameters<typeof openPaid>[0] = {}) {
  const world = await openPaid(options);
  const work = await Work.made(world);
  await granted(world, 1_000_000);
  const stream = await work.stream({ "last-event-id": "0" });
  return { world, work, stream };
}

describe("P9: what an agent tells of its usage", () => {
  it("stops a turn in the middle by the cost that it reports", async () => {
    const { world, work, stream } = await opened();
    await budget(world, `session:${work.id}`, 150_000);
    const promptId = await work.admitted([cost(25.5), "say on", "sleep 60000"].join("\n"));
    const verdict = await heard(stream, "turn_error", promptId);
    expect(verdict.data.data.code).toBe("budget_exhausted");
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 25_500_000, releasedMicro: 0 });
  });

  it("is doubted where cost and tokens disagree, and the higher is charged", async () => {
    const { work, stream } = await opened();
    await work.turn(`${cost(0.5)}\nusage 1 2 input=7`);
    const doubt = await heard(stream, "usage_suspect");
    expect(doubt.data.data).toMatchObject({ reason: "cost_disagrees" });
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 500_000 });
  });

  it("is unknown where it tells nothing: the reserve is charged, and reports say so", async () => {
    const { world, work, stream } = await opened();
    await work.turn("say hello");
    const settled = await heard(stream, "credits_settled");
    const figures = { reservedMicro: 10, chargedMicro: 10, releasedMicro: 0, usage: "unknown" };
    expect(settled.data.data).toMatchObject(figures);
    const { groups } = (await world.call("GET", "/credits/usage?by=agent")).body;
    expect(groups).toMatchObject([{ turns: 1, chargedMicro: 10, unknownTurns: 1 }]);
    const { entries } = (await world.call("GET", "/credits/statement")).body;
    expect(entries).toContainEqual(expect.objectContaining({ kind: "charge", usage: "unknown" }));
  });

  it("costs nothing where the turn failed before the agent had done anything", async () => {
    const { world, work, stream } = await opened();
    const promptId = await work.admitted("fail -32603 no model");
    await heard(stream, "turn_error", promptId);
    expect(await balance(world)).toMatchObject({ chargedMicro: 0, openMicro: 0 });
  });

  it("is capped while it tells nothing: each ten tool calls need one more reserve", async () => {
    const { world, work, stream } = await opened();
    await budget(world, `session:${work.id}`, 19);
    const ten = Array.from({ length: 10 }, () => "tool");
    const promptId = await work.admitted([...ten, "tool", "sleep 60000"].join("\n"));
    const verdict = await heard(stream, "turn_error", promptId);
    expect(verdict.data.data.code).toBe("budget_exhausted");
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 10, usage: "unknown" });
    await budget(world, `session:${work.id}`, 29);
    await work.turn(ten.join("\n"));
    expect(await balance(world)).toMatchObject({ chargedMicro: 20, openMicro: 0 });
  });

  it("is paid by the model that it names, and doubted if that has no price", async () => {
    const row = { input: 1_000_000, output: 0, reserve: 10 };
    const models = { "dear-*": { ...row, input: 3_000_000 } };
    const prices = new PriceTable({ models, agents: { echo: row } });
    const { work, stream } = await opened({ prices });
    const named = (model: string) => update({ _meta: { "_claude/model": model } });
    await work.turn(`${named("dear-1")}\nusage 1 2 input=7`);
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 21 });
  });

  it("is paid by the model that it names last, also if the turn began with it", async () => {
    const row = { input: 1_000_000, output: 0, reserve: 10 };
    const models = { dear: { ...row, input: 3_000_000 }, "echo-small": row };
    const { work, stream } = await opened({ prices: new PriceTable({ models }) });
    const named = (model: string) => update({ _meta: { "_claude/model": model } });
    await work.turn(`${named("dear")}\n${named("echo-small")}\nusage 1 2 input=7`);
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 7 });
  });

  it("is unknown, and not free, where a turn has failed after thoughts or a plan", async () => {
    const { work, stream } = await opened();
    const plan = `update ${JSON.stringify({ sessionUpdate: "plan", entries: [] })}`;
    await heard(stream, "turn_error", await work.admitted(`${plan}\nfail -32603 no model`));
    const settled = await heard(stream, "credits_settled");
    expect(settled.data.data).toMatchObject({ chargedMicro: 10, usage: "unknown" });
  });

  it.each([
    ["in another currency", cost(5, "EUR"), "currency"],
    ["below zero", update({ usage: { inputTokens: -5 } }), "invalid"],
    ["beyond what a turn can use", update({ usage: { inputTokens: 5_000_000_000 } }), "jumped"],
    ["that falls", [calls(9), update({ usage: { inputTokens: 3 } })].join("\n"), "fell"],
  ])("%s is told to all clients and to the audit, and changes no sum", async (_, line, reason) => {
    const { world, work, stream } = await opened();
    await work.turn(`${line}\nusage 1 2 input=9`);
    const doubt = await heard(stream, "usage_suspect");
    expect(doubt.data.data).toMatchObject({ reason, detail: expect.any(String) });
    expect(await balance(world)).toMatchObject({ chargedMicro: 9, openMicro: 0 });
    const { entries } = (await world.call("GET", "/audit?limit=100")).body;
    expect(JSON.stringify(entries)).toContain("usage_suspect");
  });
});

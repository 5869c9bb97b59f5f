import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../../core/price.ts";
import { fail, ok } from "../../core/result.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { granting, OPERATOR, priced, TENANT, Till } from "./till.fixture.ts";

async function opened(grantedMicro = 100) {
  const till = await Till.open(1);
  value(await till.meter.grant(TENANT, granting("g", grantedMicro)));
  const order = (name: string) => ({ ...till.order(0, turnId(name)), isAside: true });
  const balance = async () => value(await till.meter.balance(TENANT));
  return { till, order, balance };
}

const used = (output: number) => ({ model: "small", tokens: { ...NO_TOKENS, output } });

describe("P9: what is asked beside a session", () => {
  it.each([
    [0, 100],
    [4, 96],
    [25, 75],
  ])("is settled whole after it used %d: reserved = charged + released", async (output, left) => {
    const { till, order, balance } = await opened();
    const credit = value(await till.meter.reserve(order("a")));
    await till.meter.settleAside(order("a"), credit, used(output));
    expect(await balance()).toMatchObject({ openMicro: 0, openTurns: 0, availableMicro: left });
    const lines = (await till.frail.lines()).filter(({ kind }) => kind !== "grant");
    const sum = (...kinds: readonly string[]) =>
      lines
        .filter(({ kind }) => kinds.includes(kind))
        .reduce((all, one) => all + one.amountMicro, 0);
    expect(sum("reserve")).toBe(sum("charge", "release"));
    expect(sum("charge")).toBe(output);
    expect(lines.every(({ isAside }) => isAside)).toBe(true);
    const report = { by: "model", fromMs: 0, beforeMs: till.nowMs + 1 } as const;
    expect(value(await till.meter.usage(TENANT, report)).groups).toMatchObject([
      { name: "small", turns: 1, chargedMicro: output },
    ]);
  });

  it("costs the price of a turn where the agent reports nothing", async () => {
    const { till, order, balance } = await opened();
    till.prices = priced({ perTurn: 7 });
    const meter = till.another();
    const credit = value(await meter.reserve(order("a")));
    await meter.settleAside(order("a"), credit, { model: null, tokens: NO_TOKENS });
    expect(await balance()).toMatchObject({ chargedMicro: 7, openMicro: 0 });
  });

  it("P5: is no orphan while it is asked, and one when its server is gone", async () => {
    const { till, order, balance } = await opened();
    await till.begin(0);
    value(await till.meter.reserve(order("a")));
    await till.meter.sweep(async () => ok(till.session(0).session));
    await till.meter.opened(till.session(0).key, till.session(0).session);
    expect(await balance()).toMatchObject({ openMicro: 20, openTurns: 2 });
    await till.restart();
    expect(await balance()).toMatchObject({ openMicro: 0, chargedMicro: 0 });
  });

  it("P5: is an orphan too, if its settlement could not be written", async () => {
    const { till, order, balance } = await opened();
    const credit = value(await till.meter.reserve(order("a")));
    const { store } = till.frail;
    store.appendJournal = async () => fail("store_unavailable", { reason: "it is away" });
    await till.meter.settleAside(order("a"), credit, used(4));
    Reflect.deleteProperty(store, "appendJournal");
    expect(await balance()).toMatchObject({ openMicro: 10 });
    await till.meter.sweep(async () => ok(till.session(0).session));
    expect(await balance()).toMatchObject({ openMicro: 0, chargedMicro: 0 });
  });

  it("counts in the session's own budget, while it is asked and afterwards", async () => {
    const { till, order } = await opened();
    const budget = { budgetMicro: 25 };
    const credit = value(await till.meter.reserve({ ...order("a"), ...budget }));
    const next = () => till.meter.afford({ ...till.order(0, turnId("t")), ...budget });
    expect(await next()).toMatchObject({ ok: true });
    value(await till.meter.reserve({ ...order("b"), ...budget }));
    const left = (availableMicro: number) => ({
      refusal: { details: { scope: "session", availableMicro } },
    });
    expect(await next()).toMatchObject(left(5));
    await till.meter.settleAside(order("a"), credit, used(10));
    await till.meter.settleAside(order("b"), credit, used(9));
    expect(await next()).toMatchObject(left(6));
    await till.restart();
    expect(await next()).toMatchObject(left(6));
  });

  it("is remembered in the written sums, from which a ledger is opened", async () => {
    const { till, order } = await opened();
    const credit = value(await till.meter.reserve(order("a")));
    await till.meter.settleAside(order("a"), credit, used(10));
    for (let n = 0; n < 1_050; n += 1) value(await till.meter.grant(TENANT, granting(`g${n}`, 1)));
    value(await till.meter.reserve(order("b")));
    const poor = { ...till.order(0, turnId("t")), budgetMicro: 25 };
    expect(await till.another().afford(poor)).toMatchObject({
      refusal: { details: { availableMicro: 5 } },
    });
  });

  it("is counted in an unlimited tenant too, and holds nothing there", async () => {
    const { till, order, balance } = await opened();
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    const credit = value(await till.meter.reserve(order("a")));
    expect(credit).toMatchObject({ reservedMicro: 0 });
    await till.meter.settleAside(order("a"), credit, used(6));
    expect(await balance()).toMatchObject({ chargedMicro: 6, openMicro: 0 });
  });
});

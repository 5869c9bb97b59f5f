import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import { NO_TOKENS } from "../../core/price.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { PriceTable } from "./price-table.ts";
import { ADA, granting, OPERATOR, priced, TENANT, Till } from "./till.fixture.ts";

const USER = { of: "user", userId: ADA } as const;
const WHOLE = { of: "tenant" } as const;

describe("a turn that cannot be paid for", () => {
  it("is told which limit leaves the least, and how much", async () => {
    const till = await Till.open(1);
    const order = till.order(0, turnId("t"));
    const refused = async (change: object = {}) => {
      const { meter } = till;
      const reserved = await meter.reserve({ ...order, ...change });
      expect(await meter.afford({ ...order, ...change })).toEqual(reserved);
      return reserved;
    };
    const scope = (name: string, availableMicro: number) => ({
      refusal: { details: { neededMicro: 10, availableMicro, scope: name } },
    });
    value(await till.meter.grant(TENANT, granting("g", 9)));
    expect(await refused()).toMatchObject(scope("balance", 9));
    value(await till.meter.setBudget(TENANT, WHOLE, 8, OPERATOR));
    expect(await refused()).toMatchObject(scope("tenant", 8));
    value(await till.meter.setBudget(TENANT, USER, 7, OPERATOR));
    expect(await refused()).toMatchObject(scope("user", 7));
    const own = { budgetMicro: 20, usedMicro: 14 };
    expect(await refused(own)).toMatchObject(scope("session", 6));
    expect(await refused({ ...own, usedMicro: 25 })).toMatchObject(scope("session", 0));
  });

  it("is refused on an overdrawn balance if it costs something, not if it is free", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("g", 10)));
    await till.begin(0);
    await till.uses(0, 50);
    await till.ends(0);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ availableMicro: -40 });
    const order = till.order(0, turnId("t"));
    const poor = { refusal: { code: "insufficient_credits", details: { availableMicro: 0 } } };
    expect(await till.meter.afford(order)).toMatchObject(poor);
    till.prices = priced({ reserve: 0 });
    const free = till.another();
    expect(await free.afford(order)).toMatchObject({ ok: true });
    expect(await free.reserve(order)).toMatchObject({ ok: true, value: { reservedMicro: 0 } });
  });
});

describe("a turn that has to wait", () => {
  it("P9: is weighed as if all that is set aside were free again", async () => {
    const till = await Till.open(2);
    value(await till.meter.grant(TENANT, granting("g", 15)));
    await till.begin(0);
    const order = till.order(0, turnId("t"));
    const poor = { refusal: { details: { availableMicro: 5 } } };
    expect(await till.meter.afford(order)).toMatchObject(poor);
    expect(await till.meter.afford(order, "settled")).toMatchObject({ ok: true });
    await till.uses(0, 6);
    await till.ends(0);
    const settled = await till.meter.afford(till.order(0, turnId("t")), "settled");
    expect(settled).toMatchObject({
      refusal: { details: { scope: "balance", availableMicro: 9 } },
    });
  });

  it.each([
    ["tenant", WHOLE, 12],
    ["user", USER, 12],
  ])("counts of the %s's budget only what was charged", async (scope, of, budgetMicro) => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("g", 1_000)));
    value(await till.meter.setBudget(TENANT, of, budgetMicro, OPERATOR));
    await till.begin(0);
    await till.uses(0, 3);
    const waits = () => till.meter.afford(till.order(0, turnId("t")), "settled");
    expect(await waits()).toMatchObject({ ok: true });
    await till.ends(0);
    expect(await waits()).toMatchObject({ refusal: { details: { scope, availableMicro: 9 } } });
  });

  it("counts of the session's budget what was charged, also beside it", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("g", 1_000)));
    await till.begin(0);
    const own = () => ({ ...till.order(0, turnId("t")), budgetMicro: 12 });
    const aside = { ...till.order(0, turnId("a")), isAside: true };
    const credit = value(await till.meter.reserve(aside));
    expect(await till.meter.afford(own())).toMatchObject({ ok: false });
    expect(await till.meter.afford(own(), "settled")).toMatchObject({ ok: true });
    await till.meter.settleAside(aside, credit, {
      model: null,
      tokens: { ...NO_TOKENS, output: 3 },
    });
    expect(await till.meter.afford(own(), "settled")).toMatchObject({
      refusal: { details: { scope: "session", availableMicro: 9 } },
    });
  });
});

describe("a turn whose price nobody knows", () => {
  async function unlimited() {
    const till = await Till.open(1, new PriceTable({}));
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    return till;
  }

  const UNKNOWN = { ok: false, refusal: { code: "price_unknown" } };

  it("may begin where nothing limits it, and is refused where a budget does", async () => {
    const till = await unlimited();
    const order = { ...till.order(0, turnId("t")), agent: "stranger" };
    const begins = () => Promise.resolve(till.meter.reserve(order));
    expect(await begins()).toMatchObject({ ok: true, value: { reservedMicro: 0, price: null } });
    for (const of of [WHOLE, USER]) {
      value(await till.meter.setBudget(TENANT, of, 1_000, OPERATOR));
      expect(await begins()).toMatchObject(UNKNOWN);
      value(await till.meter.setBudget(TENANT, of, null, OPERATOR));
      expect(await begins()).toMatchObject({ ok: true });
    }
    expect(await till.meter.reserve({ ...order, budgetMicro: 1_000 })).toMatchObject(UNKNOWN);
  });

  it("is not refused for the budget of somebody else", async () => {
    const till = await unlimited();
    const other = { of: "user", userId: given(parseUserId("ben")) } as const;
    value(await till.meter.setBudget(TENANT, other, 0, OPERATOR));
    const order = { ...till.order(0, turnId("t")), agent: "stranger" };
    expect(await till.meter.reserve(order)).toMatchObject({ ok: true, value: { price: null } });
  });
});

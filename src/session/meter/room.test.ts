import { describe, expect, it } from "vitest";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
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

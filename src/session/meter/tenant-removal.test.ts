import { describe, expect, it } from "vitest";
import { turnId } from "../../core/session/life.fixture.ts";
import { thisHolder } from "../../store/index.ts";
import { value } from "../stage.fixture.ts";
import { granting, OPERATOR, TENANT, Till } from "./till.fixture.ts";
import { ALL_TIME } from "./usage.ts";

const HOLDER = thisHolder("a test");
const FIRST_TEN = { ...ALL_TIME, after: 0, limit: 10 };

async function withTurn() {
  const till = await Till.open(1);
  value(await till.meter.grant(TENANT, granting("g", 100)));
  const order = till.order(0, turnId("t"));
  const { store } = till.frail;
  return { ...till, meter: till.meter, order, store };
}

describe("P9: the ledger of a tenant that is deleted", () => {
  it("is forgotten: another of its name has no credits and no reservations", async () => {
    const { meter, order, store } = await withTurn();
    value(await meter.reserve(order));
    value(await meter.setBudget(TENANT, { of: "tenant" }, 50, OPERATOR));
    value(await meter.without(TENANT, () => store.removeTenant(TENANT, HOLDER)));
    expect(value(await meter.balance(TENANT))).toMatchObject({
      grantedMicro: 0,
      openMicro: 0,
      budgets: [],
    });
    await meter.giveBack(order.key, order.turnId);
    expect(value(await meter.statement(TENANT, FIRST_TEN)).lines).toEqual([]);
  });

  it("takes nothing more, not even what was begun before", async () => {
    const { meter, order, store } = await withTurn();
    const begun = meter.reserve(order);
    const removing = meter.without(TENANT, () => store.removeTenant(TENANT, HOLDER));
    expect(await begun).toMatchObject({ refusal: { code: "tenant_deleting" } });
    value(await removing);
    expect(value(await meter.statement(TENANT, FIRST_TEN)).lines).toEqual([]);
  });

  it("is as it was if it is not deleted after all", async () => {
    const { meter, order } = await withTurn();
    value(await meter.reserve(order));
    await meter.without(TENANT, async () => {});
    expect(value(await meter.balance(TENANT))).toMatchObject({ grantedMicro: 100, openMicro: 10 });
  });
});

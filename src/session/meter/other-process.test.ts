import { describe, expect, it } from "vitest";
import { fail } from "../../core/result.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import type { LedgerMeter } from "./ledger-meter.ts";
import { PriceTable } from "./price-table.ts";
import { ADA, granting, OPERATOR, TENANT, Till } from "./till.fixture.ts";

/** A till without credit, and a prompt that waits for some. */
async function waiting() {
  const till = await Till.open(1);
  const counted = { woken: 0 };
  expect(await till.begin(0)).toBe("insufficient_credits");
  till.meter.whenRaised(TENANT, () => {
    counted.woken += 1;
  });
  return { till, counted, sweep: () => till.meter.sweep(async () => fail("session_locked")) };
}

const TENANT_BUDGET = { of: "tenant" } as const;

describe("what another process changes", () => {
  it.each<[string, (other: LedgerMeter) => Promise<unknown>]>([
    ["grants", (other) => other.grant(TENANT, granting("a", 10))],
    ["lifts the limit", (other) => other.setLimit(TENANT, "unlimited", OPERATOR)],
  ])("wakes whoever waits with the next sweep, if it %s", async (_, act) => {
    const { till, counted, sweep } = await waiting();
    await act(till.another());
    await sweep();
    expect(counted.woken).toBe(1);
    expect(await till.begin(0)).toBe("t2");
  });

  it("wakes them though somebody looked at the ledger in between", async () => {
    const { till, counted, sweep } = await waiting();
    value(await till.another().grant(TENANT, granting("a", 10)));
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ availableMicro: 10 });
    await sweep();
    expect(counted.woken).toBe(1);
  });

  it("wakes them if it raises a budget", async () => {
    const { till, counted, sweep } = await waiting();
    value(await till.meter.grant(TENANT, granting("a", 100)));
    value(await till.meter.setBudget(TENANT, TENANT_BUDGET, 5, OPERATOR));
    expect(await till.begin(0)).toBe("insufficient_credits");
    counted.woken = 0;
    till.meter.whenRaised(TENANT, () => {
      counted.woken += 1;
    });
    value(await till.another().setBudget(TENANT, TENANT_BUDGET, 50, OPERATOR));
    await sweep();
    expect(counted.woken).toBe(1);
    expect(await till.begin(0)).toBe("t3");
  });

  it("counts from the next turn on where turns are weighed, without any sweep", async () => {
    const till = await Till.open(2);
    value(await till.meter.grant(TENANT, granting("a", 100)));
    expect(await till.begin(0)).toBe("t1");
    const user = { of: "user", userId: ADA } as const;
    value(await till.another().setBudget(TENANT, user, 15, OPERATOR));
    expect(await till.begin(1)).toBe("insufficient_credits");
    value(await till.another().setBudget(TENANT, user, 20, OPERATOR));
    expect(await till.begin(1)).toBe("t3");
  });

  it("counts for the next turn without a known price, if it lifts the limit", async () => {
    const till = await Till.open(1, new PriceTable({}));
    const order = { ...till.order(0, turnId("t")), agent: "stranger" };
    const unknown = { ok: false, refusal: { code: "price_unknown" } };
    expect(await till.meter.afford(order)).toMatchObject(unknown);
    value(await till.another().setLimit(TENANT, "unlimited", OPERATOR));
    expect(await till.meter.afford(order)).toMatchObject({ ok: true });
    value(await till.another().setLimit(TENANT, "granted", OPERATOR));
    value(await till.meter.balance(TENANT));
    expect(await till.meter.reserve(order)).toMatchObject(unknown);
    value(await till.another().setLimit(TENANT, "unlimited", OPERATOR));
    expect(await till.meter.reserve(order)).toMatchObject({ ok: true, value: { price: null } });
  });

  it("counts from the next sweep on for a tenant whose turns nobody weighed", async () => {
    const till = await Till.open(1);
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    value(await till.another().setLimit(TENANT, "granted", OPERATOR));
    expect(till.meter.isFree(till.order(0, turnId("t")))).toBe(true);
    await till.meter.sweep(async () => fail("session_locked"));
    expect(await till.begin(0)).toBe("insufficient_credits");
  });
});

describe("a limit that nobody has set", () => {
  it("is as each server is set, whatever budgets are set", async () => {
    const till = await Till.open(0);
    const unlimited = till.another("unlimited");
    value(await unlimited.setBudget(TENANT, TENANT_BUDGET, 50, OPERATOR));
    expect(value(await unlimited.balance(TENANT))).toMatchObject({ limit: "unlimited" });
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ limit: "granted" });
    expect(value(await till.another(null).balance(TENANT))).toMatchObject({
      limit: null,
      availableMicro: 0,
    });
  });

  it("is set for all of them once somebody sets it", async () => {
    const till = await Till.open(0);
    value(await till.another(null).setLimit(TENANT, "granted", OPERATOR));
    const unlimited = till.another("unlimited");
    expect(value(await unlimited.balance(TENANT))).toMatchObject({ limit: "granted" });
  });
});

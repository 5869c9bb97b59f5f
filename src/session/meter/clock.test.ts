import { describe, expect, it } from "vitest";
import { value } from "../stage.fixture.ts";
import { ADA, granting, OPERATOR, TENANT, Till } from "./till.fixture.ts";

const DAY_MS = 86_400_000;
const MAY_1 = Date.UTC(2026, 4, 1);

async function turn(till: Till, used: number): Promise<void> {
  expect(await till.begin(0)).toMatch(/^t\d/);
  await till.uses(0, used);
  await till.ends(0);
}

describe("P9: a clock that jumps", () => {
  it.each([
    ["back", -30 * DAY_MS],
    ["ahead", 30 * DAY_MS],
  ])("%s in mid-turn loses no charge, and charges none twice", async (_, jumpMs) => {
    const till = await Till.open(1);
    till.nowMs = MAY_1;
    value(await till.meter.grant(TENANT, granting("g", 100)));
    await till.begin(0);
    await till.uses(0, 12);
    till.nowMs += jumpMs;
    await till.ends(0);
    await till.restart();
    expect(value(await till.meter.balance(TENANT))).toMatchObject({
      chargedMicro: 12,
      openMicro: 0,
      availableMicro: 88,
    });
    const charges = (await till.frail.lines()).filter(({ kind }) => kind === "charge");
    expect(charges).toMatchObject([{ amountMicro: 12, atMs: MAY_1 + jumpMs }]);
  });

  it("holds budgets to what was used in all, and refuses nothing that fits", async () => {
    const till = await Till.open(1);
    till.nowMs = MAY_1;
    value(await till.meter.grant(TENANT, granting("g", 1_000)));
    value(await till.meter.setBudget(TENANT, { of: "user", userId: ADA }, 30, OPERATOR));
    await turn(till, 10);
    till.nowMs = MAY_1 - 365 * DAY_MS;
    await turn(till, 10);
    till.nowMs = MAY_1 + 365 * DAY_MS;
    await turn(till, 10);
    till.nowMs = MAY_1;
    expect(await till.begin(0)).toBe("insufficient_credits");
    expect(value(await till.meter.balance(TENANT)).budgets).toEqual([
      { scope: "user:ada", period: "total", budgetMicro: 30, usedMicro: 30, leftMicro: 0 },
    ]);
  });

  it("counts each turn on the day that its clock said, and all of them in all", async () => {
    const till = await Till.open(1);
    value(await till.meter.grant(TENANT, granting("g", 1_000)));
    for (const days of [1, 0, 1]) {
      till.nowMs = MAY_1 + days * DAY_MS;
      await turn(till, 5);
    }
    const day = { by: "day", beforeMs: MAY_1 + 9 * DAY_MS } as const;
    const all = value(await till.meter.usage(TENANT, { ...day, fromMs: 0 }));
    expect(all.groups).toMatchObject([
      { name: "2026-05-01", turns: 1, chargedMicro: 5 },
      { name: "2026-05-02", turns: 2, chargedMicro: 10 },
    ]);
    const second = value(await till.meter.usage(TENANT, { ...day, fromMs: MAY_1 + DAY_MS }));
    expect(second.groups).toMatchObject([{ name: "2026-05-02", turns: 2 }]);
  });
});

import { describe, expect, it } from "vitest";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { Crash, granting, TENANT, Till } from "./till.fixture.ts";

async function running(grantedMicro: number) {
  const till = await Till.open(1);
  value(await till.meter.grant(TENANT, granting("g", grantedMicro)));
  const order = till.order(0, turnId(await till.begin(0)));
  const slice = (missingMicro: number, meter = till.meter) =>
    meter.slice(order, { n: 1, price: null, missingMicro });
  return { till, order, slice };
}

describe("P9: a slice in mid-turn", () => {
  it("is as much again, or all that is missing", async () => {
    expect(value(await (await running(100)).slice(3))).toBe(10);
    expect(value(await (await running(100)).slice(25))).toBe(25);
  });

  it("is the last of the credit, if that is enough for what is missing", async () => {
    const { till, slice } = await running(15);
    expect(value(await slice(5))).toBe(5);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ availableMicro: 0 });
  });

  it("is none if there is less than what is missing", async () => {
    const { till, slice } = await running(15);
    expect(await slice(6)).toMatchObject({ refusal: { code: "insufficient_credits" } });
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ availableMicro: 5 });
  });

  it("is the one that stands in the ledger, if nobody knew whether it did", async () => {
    const { till, slice } = await running(20);
    till.frail.stepsLeft = 1;
    await expect(slice(4)).rejects.toThrow(Crash);
    till.frail.stepsLeft = Number.POSITIVE_INFINITY;
    // More is missing by now, and there would not even be credit for that.
    expect(value(await slice(8))).toBe(10);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 20 });
  });
});

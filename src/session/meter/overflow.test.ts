import { describe, expect, it } from "vitest";
import { MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { turnId } from "../../core/session/life.fixture.ts";
import { value } from "../stage.fixture.ts";
import { journalEntry, plainLine } from "./entry.ts";
import { OPERATOR, priced, TENANT, Till } from "./till.fixture.ts";

const MAX = MICRO_CREDITS_MAX;

/** A tenant without a limit, in whose journal these entries stand. */
async function journalOf(...lines: readonly ["reserve" | "charge" | "release", string, number][]) {
  const till = await Till.open(2);
  const { sessionId } = till.session(0).key;
  const entries = lines.map(([kind, turn, amountMicro]) => {
    const entry = { kind, turnId: turnId(turn), n: 0, amountMicro } as const;
    return journalEntry(plainLine(entry, null), sessionId, till.nowMs);
  });
  value(await till.frail.commitEntries(entries));
  value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
  return till;
}

describe("P9: a ledger whose sums pass what is counted exactly", () => {
  it("is read all the same, and the session with a budget of its own goes on", async () => {
    const till = await journalOf(["charge", "a", MAX], ["charge", "b", 5]);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({
      chargedMicro: MAX,
      openMicro: 0,
    });
    const order = { ...till.order(0, turnId("t")), budgetMicro: 100 };
    expect(value(await till.meter.reserve(order))).toMatchObject({ reservedMicro: 10 });
    await till.meter.giveBack(order.key, order.turnId);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 0 });
  });

  it("holds a budget of the tenant to be used up", async () => {
    const till = await journalOf(["charge", "a", MAX], ["charge", "b", MAX]);
    value(await till.meter.setBudget(TENANT, { of: "tenant" }, MAX, OPERATOR));
    expect(await till.begin(0)).toBe("insufficient_credits");
  });

  it("finds what is open, though it is more than can be summed up", async () => {
    const till = await journalOf(["reserve", "a", MAX], ["reserve", "b", MAX]);
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: MAX, openTurns: 2 });
    await till.restart();
    expect(value(await till.meter.balance(TENANT))).toMatchObject({ openMicro: 0, openTurns: 0 });
  });

  it("takes no reservation that could not be counted beside the others", async () => {
    const till = await Till.open(2, priced({ reserve: MAX }));
    value(await till.meter.setLimit(TENANT, "unlimited", OPERATOR));
    const order = (n: number) => ({ ...till.order(n, turnId(`t${n}`)), budgetMicro: MAX });
    value(await till.meter.reserve(order(0)));
    expect(await till.meter.reserve(order(1))).toMatchObject({
      refusal: { code: "insufficient_credits", details: { availableMicro: 0, scope: "balance" } },
    });
    await till.meter.giveBack(order(0).key, order(0).turnId);
    expect(value(await till.meter.reserve(order(1)))).toMatchObject({ reservedMicro: MAX });
  });
});

import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "./price.ts";
import { spentMicro } from "./turn-cost.ts";

const PRICE = { ...NO_TOKENS, input: 1_000_000, perTurn: 5 };
const TOLD = { model: null, tokens: { ...NO_TOKENS, input: 7 } };

describe("P9: what a turn has cost", () => {
  it.each([
    ["by its tokens", TOLD, 12],
    ["by the cost where that decides", { ...TOLD, costMicro: 40, decidedBy: "cost" }, 45],
    ["by the cost where there are no tokens", { ...TOLD, costMicro: 40, figures: "none" }, 45],
    ["by the higher where they disagree", { ...TOLD, costMicro: 4_000 }, 4_005],
  ] as const)("is with what the operator takes for each turn, %s", (_how, usage, micro) => {
    expect(spentMicro(PRICE, usage)).toBe(micro);
  });

  it("is the agent's cost where there is no price", () => {
    expect(spentMicro(null, { ...TOLD, costMicro: 40 })).toBe(40);
  });
});

import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../../core/price.ts";
import { UsageMeter } from "./usage.ts";

describe("the usage of a turn", () => {
  it("P9: is put together from updates and the prompt's answer", () => {
    const meter = new UsageMeter();
    meter.updated({ used: 5_000, size: 200_000, cost: { amount: 1, currency: "USD" } });
    const told = meter.answered({ totalTokens: 33, inputTokens: 20, outputTokens: 10 });
    expect(told).toBe(true);
    expect(meter.reading("large")).toEqual({
      model: "large",
      used: 5_000,
      size: 200_000,
      tokens: { ...NO_TOKENS, input: 20, output: 10 },
    });
  });

  it("begins anew with each turn, while the context stays as full as it was", () => {
    const meter = new UsageMeter();
    meter.updated({ used: 1, size: 2 });
    meter.answered({ inputTokens: 20 });
    meter.turnBegins();
    expect(meter.reading(null)).toEqual({ model: null, used: 1, size: 2, tokens: NO_TOKENS });
  });

  it.each([-1, 1.5, Number.NaN, "12", null, 2 ** 60])("does not count %s as tokens", (odd) => {
    const meter = new UsageMeter();
    meter.answered({ inputTokens: odd, outputTokens: 3 });
    expect(meter.reading(null).tokens).toEqual({ ...NO_TOKENS, output: 3 });
  });

  it("knows that an answer without usage says nothing", () => {
    expect(new UsageMeter().answered(undefined)).toBe(false);
  });
});

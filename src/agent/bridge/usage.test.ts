import { describe, expect, it } from "vitest";
import { NO_TOKENS } from "../../core/price.ts";
import { UsageMeter } from "./usage.ts";

describe("the usage of a turn", () => {
  it("P9: is put together from updates and the prompt's answer", () => {
    const meter = new UsageMeter("turn");
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

  it("P9: adds up what each model call took, unless the answer has the sum of them", () => {
    const meter = new UsageMeter("turn");
    meter.called({ inputTokens: 10, outputTokens: 3 });
    meter.called({ inputTokens: 20, outputTokens: 4 });
    expect(meter.reading(null).tokens).toEqual({ ...NO_TOKENS, input: 30, output: 7 });
    meter.answered({ inputTokens: 31, outputTokens: 7 });
    expect(meter.reading(null).tokens).toEqual({ ...NO_TOKENS, input: 31, output: 7 });
  });

  it("begins anew with each turn, while the context stays as full as it was", () => {
    const meter = new UsageMeter("turn");
    meter.updated({ used: 1, size: 2 });
    meter.answered({ inputTokens: 20 });
    meter.turnBegins();
    expect(meter.reading(null)).toEqual({ model: null, used: 1, size: 2, tokens: NO_TOKENS });
  });

  it.each([-1, 1.5, Number.NaN, "12", null, 2 ** 60])("does not count %s as tokens", (odd) => {
    const meter = new UsageMeter("turn");
    meter.answered({ inputTokens: odd, outputTokens: 3 });
    expect(meter.reading(null).tokens).toEqual({ ...NO_TOKENS, output: 3 });
  });

  const FIVE = { input: 100, output: 50, cachedRead: 30, cachedWrite: 10, thought: 20 };
  it.each([
    ["each kind by itself", 210, FIVE],
    ["thoughts as output too", 190, { ...FIVE, output: 30 }],
    ["what was read from a cache as input too", 180, { ...FIVE, input: 70 }],
    ["both", 160, { ...FIVE, input: 70, output: 30 }],
    ["all that was cached as input too", 170, { ...FIVE, input: 60 }],
    ["all of these", 150, { ...FIVE, input: 60, output: 30 }],
    ["in a way that cannot be told", 155, FIVE],
  ])("P9: counts a token once, where an agent counts %s", (_way, totalTokens, tokens) => {
    const meter = new UsageMeter("turn");
    const cached = { cachedReadTokens: 30, cachedWriteTokens: 10 };
    const told = { inputTokens: 100, outputTokens: 50, ...cached, thoughtTokens: 20 };
    meter.answered({ ...told, totalTokens });
    expect(meter.reading(null).tokens).toEqual(tokens);
  });

  it("P9: of totals that are told with and without their sum nothing is counted again", () => {
    const meter = new UsageMeter("session");
    const told = { inputTokens: 100, outputTokens: 50, thoughtTokens: 20 };
    meter.updated({ usage: told });
    meter.answered({ ...told, totalTokens: 150 });
    const once = { ...NO_TOKENS, input: 100, output: 50, thought: 20 };
    expect(meter.reading(null).tokens).toEqual(once);
  });

  it("P9: of a session's totals what stands in two kinds is taken out of what is new", () => {
    const meter = new UsageMeter("session");
    const kinds = (input: number, output: number, cachedRead: number, thought: number) => {
      const some = { inputTokens: input, outputTokens: output };
      return { ...some, cachedReadTokens: cachedRead, thoughtTokens: thought };
    };
    meter.turnBegins();
    meter.answered({ ...kinds(1_000, 600, 400, 100), totalTokens: 1_600 });
    meter.turnBegins();
    meter.answered({ ...kinds(1_100, 920, 400, 400), totalTokens: 2_020 });
    const twice = { ...NO_TOKENS, input: 100, output: 20, thought: 300 };
    expect(meter.reading(null).tokens).toEqual(twice);
  });

  it("knows that an answer without usage says nothing", () => {
    expect(new UsageMeter("turn").answered(undefined)).toBe(false);
  });

  it("P9: is the sum of its prompts, with or without an answer that tells it", () => {
    const meter = new UsageMeter("turn");
    meter.updated({ used: 1, size: 2, usage: { inputTokens: 15 } });
    meter.answered({ inputTokens: 20 });
    expect(meter.reading(null).tokens.input).toBe(20);
    meter.updated({ used: 1, size: 2, usage: { inputTokens: 5 } });
    expect(meter.reading(null).tokens.input).toBe(25);
    meter.answered(undefined);
    meter.answered({ inputTokens: 7 });
    expect(meter.reading(null).tokens.input).toBe(32);
  });

  it("P9: is what the totals of a session have grown by, where an agent tells those", () => {
    const meter = new UsageMeter("session");
    meter.turnBegins();
    meter.updated({ used: 1, size: 2, usage: { inputTokens: 10, outputTokens: 1 } });
    meter.answered({ inputTokens: 30, outputTokens: 2 });
    expect(meter.reading(null).tokens).toMatchObject({ input: 30, output: 2 });
    meter.turnBegins();
    meter.answered({ inputTokens: 3_000_000_000, outputTokens: 2 });
    meter.turnBegins();
    meter.answered({ inputTokens: 3_000_000_050, outputTokens: 9 });
    expect(meter.reading(null).tokens).toMatchObject({ input: 50, output: 7 });
    meter.turnBegins();
    meter.answered({ inputTokens: 8, outputTokens: 1 }); // It has begun to count anew.
    expect(meter.reading(null).tokens).toMatchObject({ input: 8, output: 1 });
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addTokens,
  costMicro,
  isPrice,
  isTokenUsage,
  NO_TOKENS,
  type Price,
  type TokenUsage,
} from "./price.ts";

const MAX = 9_007_199_254_740_991;

const FREE: Price = { ...NO_TOKENS, perTurn: 0 };
const tokens = (some: Partial<TokenUsage>): TokenUsage => ({ ...NO_TOKENS, ...some });
const price = (some: Partial<Price>): Price => ({ ...FREE, ...some });

/** Each kind has a price of its own, so that no two can be mixed up unnoticed. */
const PRICE = price({
  input: 3_000_000,
  output: 15_000_000,
  cachedRead: 300_000,
  cachedWrite: 3_750_000,
  thought: 10_000_000,
  perTurn: 500,
});

const KINDS = ["input", "output", "cachedRead", "cachedWrite", "thought"] as const;

describe("P9: the cost of a turn in micro-credits", () => {
  it.each<[string, TokenUsage, number]>([
    ["no tokens: the price of a turn remains", NO_TOKENS, 500],
    ["a million tokens in", tokens({ input: 1_000_000 }), 3_000_500],
    ["a thousand tokens out", tokens({ output: 1_000 }), 15_500],
    ["a thousand tokens from the cache", tokens({ cachedRead: 1_000 }), 800],
    ["a thousand tokens to the cache", tokens({ cachedWrite: 1_000 }), 4_250],
    ["a thousand tokens of thought", tokens({ thought: 1_000 }), 10_500],
    [
      "one token of each kind: 3 + 15 + 0.3 + 3.75 + 10 = 32.05, rounded up once",
      { input: 1, output: 1, cachedRead: 1, cachedWrite: 1, thought: 1 },
      533,
    ],
  ])("of %s", (_what, usage, expected) => {
    expect(costMicro(PRICE, usage)).toBe(expected);
  });

  it.each([
    [1, 1, 1],
    [1, 1_000_000, 1],
    [1, 1_000_001, 2],
    [999_999, 1, 1],
    [1_000_001, 1, 2],
    [0, MAX, 0],
  ])(
    "at %i per million, of %i tokens is %i: any part of one counts as one",
    (each, count, cost) => {
      expect(costMicro(price({ input: each }), tokens({ input: count }))).toBe(cost);
    },
  );

  it("is rounded once and not for each kind", () => {
    const half = price({ input: 500_000, output: 500_000 });
    expect(costMicro(half, tokens({ input: 1, output: 1 }))).toBe(1);
  });

  it("is exact where doubles are not", () => {
    // The product is 10^18 + 2 x 10^9 + 1, and its last digit is what makes the cost round up.
    const dear = price({ input: 1_000_000_001 });
    expect(costMicro(dear, tokens({ input: 1_000_000_001 }))).toBe(1_000_000_002_001);
  });

  it("P10: stops at the largest amount there is", () => {
    expect(costMicro(price({ input: MAX }), tokens({ input: MAX }))).toBe(MAX);
    expect(costMicro(price({ perTurn: MAX, input: 1 }), tokens({ input: 1 }))).toBe(MAX);
    expect(costMicro(price({ perTurn: MAX }), NO_TOKENS)).toBe(MAX);
  });

  it("is nothing where the price is not known", () => {
    expect(costMicro(null, tokens({ input: MAX }))).toBe(0);
  });

  const count = fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: MAX }));
  const usage = fc.record({
    input: count,
    output: count,
    cachedRead: count,
    cachedWrite: count,
    thought: count,
  });

  it("is whole, never negative, and never falls while tokens are added", () => {
    const anyPrice = fc
      .record({ perTurn: count })
      .chain(({ perTurn }) => usage.map((each) => ({ ...each, perTurn })));
    const property = fc.property(anyPrice, usage, usage, (each, before, more) => {
      const first = costMicro(each, before);
      const second = costMicro(each, addTokens(before, more));
      expect([first, second].every((cost) => Number.isSafeInteger(cost) && cost >= 0)).toBe(true);
      expect(second).toBeGreaterThanOrEqual(first);
    });
    fc.assert(property);
  });
});

describe("the sum of two usages", () => {
  it("adds kind by kind", () => {
    const a = { input: 1, output: 20, cachedRead: 300, cachedWrite: 4_000, thought: 50_000 };
    const b = { input: 9, output: 80, cachedRead: 700, cachedWrite: 6_000, thought: 50_000 };
    expect(addTokens(a, b)).toEqual({
      input: 10,
      output: 100,
      cachedRead: 1_000,
      cachedWrite: 10_000,
      thought: 100_000,
    });
  });

  it.each(KINDS)("P10: stays a count: it stops where %s could not be counted exactly", (kind) => {
    const sum = addTokens(tokens({ [kind]: MAX }), tokens({ [kind]: 2 }));
    expect(sum).toEqual(tokens({ [kind]: MAX }));
  });
});

describe("a count from outside", () => {
  const wrong = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, MAX + 1];

  it("is believed from nothing to what one turn can have used, in every kind", () => {
    expect(isTokenUsage(NO_TOKENS)).toBe(true);
    expect(isPrice(PRICE)).toBe(true);
    for (const kind of KINDS) {
      expect(isTokenUsage(tokens({ [kind]: 1_000_000_000 }))).toBe(true);
      expect(isTokenUsage(tokens({ [kind]: 1_000_000_001 }))).toBe(false);
      expect(isPrice(price({ [kind]: 1_000_000_000_000 }))).toBe(true);
      expect(isPrice(price({ [kind]: 1_000_000_000_001 }))).toBe(false);
    }
  });

  it("P9: of the largest turn at the largest price still costs an exact amount", () => {
    const most = 1_000_000_000;
    const dear = 1_000_000_000_000;
    const all = tokens(Object.fromEntries(KINDS.map((kind) => [kind, most])));
    const rates = price(Object.fromEntries([...KINDS, "perTurn"].map((kind) => [kind, dear])));
    expect(costMicro(rates, all)).toBe(5 * 1_000_000_000_000_000 + dear);
  });

  it.each(wrong)("is not believed if it is %d, whatever it counts", (bad) => {
    for (const kind of KINDS) {
      expect(isTokenUsage(tokens({ [kind]: bad }))).toBe(false);
      expect(isPrice(price({ [kind]: bad }))).toBe(false);
    }
    expect(isPrice(price({ perTurn: bad }))).toBe(false);
  });
});

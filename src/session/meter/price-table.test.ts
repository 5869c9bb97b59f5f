import { describe, expect, it } from "vitest";
import { costMicro, isPrice } from "../../core/price.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { DEFAULT_PRICES, PriceTable, readPrices } from "./price-table.ts";

describe("the price table", () => {
  it.each(Object.keys(DEFAULT_PRICES.models ?? {}))("has a price for %s that can be", (model) => {
    const quote = new PriceTable().quote("any", model);
    expect(quote?.price).toSatisfy(isPrice);
    expect(quote?.estimateMicro).toBeGreaterThan(0);
  });

  it("knows a model by its name, with a date behind it or without", () => {
    const table = new PriceTable();
    const plain = table.quote("any", "claude-sonnet-4-5");
    expect(plain?.price).toMatchObject({ input: 3_000_000, output: 15_000_000 });
    expect(table.quote("any", "claude-sonnet-4-5-20250929")).toEqual(plain);
    expect(table.quote("any", "gpt-4o-2024-08-06")).toEqual(table.quote("any", "gpt-4o"));
  });

  it("does not take one model for another, or guess at one that it does not know", () => {
    const table = new PriceTable();
    expect(table.quote("any", "gpt-5-miniature")).toBeNull();
    expect(table.quote("any", null)).toBeNull();
    expect(table.quote("any", "__proto__")).toBeNull();
  });

  it("takes an agent's price where no model is known, by the turn if it says so", () => {
    const table = value(readPrices('{"agents":{"quiet":{"perTurn":250}}}'));
    expect(table.quote("quiet", null)).toMatchObject({
      price: { perTurn: 250, input: 0 },
      estimateMicro: 250,
    });
    expect(new PriceTable().quote("echo", null)).toMatchObject({ estimateMicro: 0 });
  });

  it("is overridden by whole rows, and told how much to set aside", () => {
    const table = value(readPrices('{"models":{"gpt-5":{"input":1,"output":0,"reserve":77}}}'));
    expect(table.quote("any", "gpt-5")).toEqual({
      price: { input: 1, output: 0, cachedRead: 1, cachedWrite: 1, thought: 0, perTurn: 0 },
      estimateMicro: 77,
    });
    expect(table.quote("any", "gpt-5-mini")?.price.output).toBe(2_000_000);
  });

  it.each([
    ["{}", "a row has input and output, or perTurn; 0 is free"],
    ['{"reserve":10}', "a row has input and output, or perTurn; 0 is free"],
    ['{"input":3000000}', "a row has both input and output, or neither; 0 is free"],
    ['{"output":3000000,"perTurn":1}', "a row has both input and output, or neither; 0 is free"],
  ])("refuses a row by which something would be free that nobody said: %s", (row, reason) => {
    const read = readPrices(`{"models":{"m":${row}}}`);
    expect(JSON.stringify(read)).toContain(reason);
  });

  it("has nothing free that a row forgets: the cache is input, and thought is output", () => {
    const row = { input: 3_000_000, output: 15_000_000 };
    const { price } = given(new PriceTable({ models: { m: row } }).quote("any", "m"));
    const rest = { cachedRead: 3_000_000, cachedWrite: 3_000_000, thought: 15_000_000 };
    expect(price).toEqual({ ...row, ...rest, perTurn: 0 });
    // Agents tell the five apart, so nothing is in two of them.
    const used = { input: 10, output: 10, cachedRead: 1_000, cachedWrite: 100, thought: 100 };
    expect(costMicro(price, used)).toBe(3 * 1_110 + 15 * 110);
  });

  it("has free what a row says is", () => {
    const free = { cachedRead: 0, cachedWrite: 0, thought: 0 };
    const row = { input: 3, output: 15, ...free };
    const quote = new PriceTable({ models: { m: row } }).quote("any", "m");
    expect(quote?.price).toMatchObject(free);
  });

  it.each([
    "",
    "[]",
    '{"models":{"m":{"input":-1}}}',
    '{"models":{"m":{"input":0.5}}}',
    '{"models":{"m":{"input":"1"}}}',
    '{"models":{"m":{"inputs":1}}}',
    '{"models":{"m":{"input":9007199254740991}}}',
    '{"model":{}}',
  ])("refuses a file that says %s, and says where", (text) => {
    expect(readPrices(text)).toMatchObject({
      ok: false,
      refusal: {
        code: "invalid_server_config",
        details: { path: expect.stringMatching(/^--prices/) },
      },
    });
  });
});

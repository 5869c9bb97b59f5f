import { describe, expect, it } from "vitest";
import { costMicro, isPrice } from "../../core/price.ts";
import { value } from "../stage.fixture.ts";
import { given } from "../world.fixture.ts";
import { DEFAULT_PRICES } from "./price-defaults.ts";
import { readPrices } from "./price-file.ts";
import { PriceTable } from "./price-table.ts";

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

  it.each([
    ["openai/gpt-5.5", "gpt-5.5"],
    ["openrouter/anthropic/claude-opus-4.5", "claude-opus-4-5"],
    ["$runtime|openai|gpt-5.2(openai)", "gpt-5.2"],
    ["gpt-5.5[medium]", "gpt-5.5"],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"],
    ["claude-opus-4-5@20251101", "claude-opus-4-5"],
    ["google/gemini-3-pro-preview", "gemini-3-pro*"],
    ["anthropic/claude-haiku-4-5:thinking", "claude-haiku-4-5"],
    ["gpt-5.1-codex-max", "gpt-5.1-codex*"],
  ])("knows %s by what is inside the name: %s", (model, row) => {
    expect(new PriceTable().find("any", model)).toMatchObject({ row, of: "models" });
  });

  it("knows a model by the alias that its agent's profile has for it, and no other agent's", () => {
    const aliases = new Map([["default", "claude-opus-5-5"]]);
    const table = new PriceTable({}, (agent) => (agent === "claude" ? aliases : new Map()));
    expect(table.find("claude", "default")).toMatchObject({ row: "claude-opus-5-5" });
    expect(table.find("other", "default")).toBeNull();
    const unnamed = new PriceTable({}, () => new Map([["*", "gpt-5"]]));
    expect(unnamed.find("quiet", null)).toMatchObject({ row: "gpt-5" });
    expect(unnamed.find("quiet", "another")).toBeNull();
  });

  it("takes the closest of several patterns, and a name before any of them", () => {
    const [input, output] = [1, 1];
    const row = (perTurn: number) => ({ input, output, perTurn });
    const models = { "*": row(1), "big-*": row(2), "big-*-fast": row(3), "big-one-fast": row(4) };
    const table = new PriceTable({ models });
    const rows = ["small", "big-two", "big-two-fast", "big-one-fast", "x/big-one-fast"].map(
      (model) => table.find("any", model)?.price.perTurn,
    );
    expect(rows).toEqual([1, 2, 3, 4, 4]);
  });

  it("takes a pattern of the operator before a default row", () => {
    const table = new PriceTable({ models: { "gpt-*": { input: 7, output: 7 } } });
    expect(table.find("any", "gpt-5")).toMatchObject({ row: "gpt-*", isOwn: true });
    expect(table.find("any", "claude-opus-5")).toMatchObject({ isOwn: false });
  });

  it("says of what day and source it is, and can be replaced as a whole", () => {
    expect(new PriceTable().origin).toMatch(/^defaults of 2026-\d\d-\d\d: list prices/);
    const only = '{"defaults":false,"asOf":"2027-01-02","source":"our contract"}';
    const table = value(readPrices(only));
    expect(table.origin).toBe("your file of 2027-01-02: our contract");
    expect(table.find("any", "gpt-5")).toBeNull();
    expect(table.find("echo", null)).toBeNull();
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
    '{"asOf":"yesterday"}',
    '{"defaults":"no"}',
    '{"models":{"":{"perTurn":1}}}',
    '{"models":{"m":{"perTurn":1,"currency":"EUR"}}}',
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

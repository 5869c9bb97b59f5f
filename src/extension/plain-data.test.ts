import { describe, expect, it } from "vitest";
import { PLAIN_DATA_DEPTH_MAX } from "../core/limits.ts";
import { isTooLarge, plainText } from "./plain-data.ts";

const LIMIT = 1_000;

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

const circle: Record<string, unknown> = { name: "a" };
circle.inner = [circle];

describe("plain data", () => {
  it.each([
    [null],
    [true],
    [-1.5e-7],
    ['snow ☃ and 😀, a quote " and a \u0000'],
    [{ a: [1, { b: [] }], "": {} }],
    [nested(PLAIN_DATA_DEPTH_MAX)],
  ])("comes back from its text as it was: %j", (value) => {
    expect(JSON.parse(plainText(value, LIMIT).text ?? "")).toEqual(value);
  });

  it("may hold a value twice that does not hold itself", () => {
    const shared = { n: 1 };
    expect(plainText([shared, shared], LIMIT).text).toBe('[{"n":1},{"n":1}]');
  });

  it.each<[string, unknown, string, string]>([
    ["a function", { do: () => 1 }, "do", "it is of the type function, which JSON has not"],
    ["undefined", { a: undefined }, "a", "it is of the type undefined, which JSON has not"],
    ["a hole", new Array(1), "0", "it is of the type undefined, which JSON has not"],
    ["a symbol", [Symbol("s")], "0", "it is of the type symbol, which JSON has not"],
    ["a BigInt", { n: 1n }, "n", "it is of the type bigint, which JSON has not"],
    ["NaN", { a: { b: Number.NaN } }, "a.b", "it is NaN"],
    ["infinity", [Number.NEGATIVE_INFINITY], "0", "it is -Infinity"],
    ["a cycle", circle, "inner.0", "it contains itself"],
    ["a date", { at: new Date(0) }, "at", "it is no plain object"],
    ["a map", new Map(), "", "it is no plain object"],
    ["half a character", ["\ud83d"], "0", "it has half a character"],
    ["half a character in a key", { "\ud83d": 1 }, "", "a key has half a character"],
    ["a key that is a symbol", { [Symbol("s")]: 1 }, "", "a key is a symbol"],
    ["a key of the prototype", JSON.parse('{"a":{"__proto__":1}}'), "a", "a key is __proto__"],
    [
      "too many levels",
      nested(PLAIN_DATA_DEPTH_MAX + 1),
      "0.".repeat(64).slice(0, -1),
      "it is nested deeper than 64",
    ],
  ])("has not %s", (_, value, path, reason) => {
    expect(plainText(value, LIMIT).fault).toEqual({ path, reason });
  });

  it("P10: is as large as it may be, in bytes of its text, and no larger", () => {
    expect(plainText("x".repeat(LIMIT - 2), LIMIT).fault).toBeUndefined();
    for (const large of ["x".repeat(LIMIT - 1), "☃".repeat(LIMIT / 2), "\n".repeat(LIMIT - 2)]) {
      const { fault } = plainText(large, LIMIT);
      expect(fault && isTooLarge(fault)).toBe(true);
    }
  });

  it("P10: is not walked on once it is too large", () => {
    let read = 0;
    const endless: unknown = new Proxy([], {
      get: (_, name) => {
        read += 1;
        return name === "length" ? 1e9 : 1;
      },
    });
    const { fault } = plainText([endless], LIMIT);
    expect(fault && isTooLarge(fault)).toBe(true);
    expect(read).toBeLessThan(10 * LIMIT);
  });
});

import { describe, expect, it } from "vitest";
import { isContractKnown, isInRange } from "./version.ts";

describe("a range of versions", () => {
  it.each([
    [">=0.1.0", ["0.1.0", "0.1.1", "3.0.0"], ["0.0.9"]],
    [">0.1.0", ["0.1.1"], ["0.1.0"]],
    [">1.2", ["1.3.0"], ["1.2.9"]],
    ["<2", ["1.9.9"], ["2.0.0"]],
    ["<=1.2", ["1.2.9"], ["1.3.0"]],
    ["^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]],
    ["^0.1.2", ["0.1.9"], ["0.2.0"]],
    ["^0.0.3", ["0.0.3"], ["0.0.4"]],
    ["~1.2.3", ["1.2.9"], ["1.3.0"]],
    ["~1", ["1.9.0"], ["2.0.0"]],
    ["1.x", ["1.0.0", "1.9.9"], ["2.0.0"]],
    ["*", ["0.0.0", "9.9.9"], []],
    ["0.1.0", ["0.1.0"], ["0.1.1"]],
    [">=1.0 <3 || 5.0.0", ["2.9.9", "5.0.0"], ["3.0.0", "5.0.1"]],
    [">= 1.0.0", ["1.0.0"], ["0.9.0"]],
  ])("%s has what it says, and no more", (range, inside, outside) => {
    expect(inside.filter((version) => isInRange(version, range) !== true)).toEqual([]);
    expect(outside.filter((version) => isInRange(version, range) !== false)).toEqual([]);
  });

  it.each(["", "latest", ">=", "1.2.3.4", "1 - 2", "x".repeat(1_000)])("is not %j", (range) => {
    expect(isInRange("1.0.0", range)).toBe(null);
  });
});

describe("what was made for a version of a contract", () => {
  it.each([
    ["1.2.0", true],
    ["1.0.9", true],
    ["1.3.0", false],
    ["2.0.0", false],
    ["0.9.0", false],
    ["one", null],
    [undefined, null],
  ])("%s is understood by version 1.2.3: %s", (made, isKnown) => {
    expect(isContractKnown(made, "1.2.3")).toBe(isKnown);
  });
});

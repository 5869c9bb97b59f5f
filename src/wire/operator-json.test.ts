import { describe, expect, it } from "vitest";
import { parseJson } from "./operator-json.ts";

describe("the JSON of an operator", () => {
  it("is read", () => {
    expect(parseJson('{"a": [1, "ü"]}')).toEqual({ value: { a: [1, "ü"] } });
    expect(parseJson("null")).toEqual({ value: null });
  });

  it.each([
    ["", "it is empty; write {} into it"],
    [" \n", "it is empty; write {} into it"],
    ['{\n  "port": 4170,\n  "agent": qwen\n}', /line 3, column 12: expected a value, found "q"$/],
    ["// a comment\n{}", /line 1, column 1: expected a value, found "\/"$/],
    ['{"port": 1,}', /line 1, column 12: expected a name in double quotes, found "}"$/],
    ['{"port": 41', /line 1, column 12: expected "," or "}", found the end$/],
    ['{"port": 1} x', /line 1, column 13: expected nothing more, found "x"$/],
  ])("that is none, as %j, is refused with the place", (text, fault) => {
    expect(parseJson(text).fault).toMatch(fault);
  });

  it("P8: is not repeated, as it may hold a secret", () => {
    expect(parseJson('{"token": hush-4711-do-not-tell}').fault).not.toContain("hu");
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JSON_FAULT_CHARS_MAX } from "../core/limits.ts";
import { faultOf } from "./json-fault.ts";

describe("the fault of a text that is no JSON", () => {
  it.each<[string, number, number, string]>([
    ["{", 1, 2, "a name in double quotes, found the end"],
    ["{'a':1}", 1, 2, `a name in double quotes, found "'"`],
    ["{“a”:1}", 1, 2, 'a name in double quotes, found "“"'],
    ['{"a":1,}', 1, 8, 'a name in double quotes, found "}"'],
    ['{"a" 1}', 1, 6, '":", found "1"'],
    ['{"a":1\n "b":2}', 2, 2, `"," or "}", found '"'`],
    ["[1,]", 1, 4, 'a value, found "]"'],
    ["[1 2]", 1, 4, '"," or "]", found "2"'],
    ['{"a":tru}', 1, 6, 'a value, found "t"'],
    ['{"a":01}', 1, 6, 'a value, found "0"'],
    ['{"a":"x\ny"}', 1, 8, "the end of a text in double quotes, found the end of the line"],
    ['{"a":"\\q"}', 1, 8, 'an escape such as "n" after "\\", found "q"'],
    ['{"a":"\\N"}', 1, 8, 'an escape such as "n" after "\\", found "N"'],
    ["[\u0001]", 1, 2, "a value, found a control character"],
    ["{} {}", 1, 4, 'nothing more, found "{"'],
    [" ", 1, 2, "a value, found the end"],
  ])("%j is at line %i, column %i: expected %s", (text, line, column, expected) => {
    expect(faultOf(text)).toEqual({ line, column, reason: `expected ${expected}` });
  });

  it("is there wherever JSON.parse sees one, and nowhere else", () => {
    const token = fc.constantFrom(...'{}[]:,"\\ \n', "u00e4", "1", "-", ".5", "e3", "true", "nul");
    const built = fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join(""));
    const cut = fc
      .tuple(fc.json(), fc.nat(), token)
      .map(
        ([text, at, put]) => text.slice(0, at % text.length) + put + text.slice(at % text.length),
      );
    const property = fc.property(fc.oneof(built, cut), (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(faultOf(text)?.reason.startsWith("expected JSON")).toBe(isJson);
    });
    fc.assert(property, { numRuns: 3_000 });
  });

  it("P10: is not looked for in a long text", () => {
    expect(faultOf(`[${"x".repeat(JSON_FAULT_CHARS_MAX)}`)).toBeNull();
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineChanges } from "./tally.ts";

describe("the lines that an edit changed", () => {
  it.each([
    ["a new file", null, "a\nb\n", 2, 0],
    ["an emptied one", "a\nb\n", "", 0, 2],
    ["one line in the middle", "a\nb\nc\n", "a\nx\nc\n", 1, 1],
    ["a line that moved", "a\nb\nc", "b\nc\na", 0, 0],
    ["a line twice", "a\n", "a\na\n", 1, 0],
    ["a final line break", "a", "a\n", 0, 0],
    ["nothing", null, "", 0, 0],
  ])("are counted: %s", (_what, before, after, added, removed) => {
    expect(lineChanges(before, after)).toEqual({ added, removed });
  });

  it("are turned round by turning the edit round", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\n") });
    const both = fc.property(text, text, (one, other) => {
      const { added, removed } = lineChanges(one, other);
      expect(lineChanges(other, one)).toEqual({ added: removed, removed: added });
      expect(lineChanges(one, one)).toEqual({ added: 0, removed: 0 });
    });
    fc.assert(both);
  });
});

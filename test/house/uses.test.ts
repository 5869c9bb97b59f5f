import { describe, expect, it } from "vitest";
import { unusedNames } from "./uses.ts";

/** Whether a source that says this uses the name `gone`. */
function uses(text: string): boolean {
  return unusedNames(["gone"], new Map([["a.ts", text]])).length === 0;
}

describe("the search for names that nobody uses", () => {
  it.each([
    ["an argument", 'refusal("gone");'],
    ["an argument by name", "slice(gone);"],
    ["a constant", 'const a = "gone";'],
    ["a cell of a table", 'const a = { b: "gone" };'],
    ["a cell of the same name", "const a = { gone };"],
    ["a member", "const a = TABLE.gone;"],
    ["a comparison by name", "const a = b > gone;"],
    ["a comparison with a code", 'const a = code === "gone";'],
    ["one way of two", 'const a = b ? "gone" : "here";'],
  ])("counts %s", (_what, text) => {
    expect(uses(text)).toBe(true);
  });

  it.each([
    ["an import", 'import { gone } from "./b.ts";'],
    ["an export from elsewhere", 'export { gone } from "./b.ts";'],
    ["a type", 'type A = "gone" | "here";'],
    ["a field of a type", "interface A { gone: string }"],
    ["a key of a table", "const a = { gone: 1 };"],
    ["a quoted key of a table", 'const a = { "gone": 1 };'],
    ["a comparison with an event's type", 'const a = event.type === "gone";'],
    ["a case", 'switch (event.type) { case "gone": }'],
    ["the name of an event", 'draft.emit("gone", {});'],
    ["a part of a word", 'const a = "gone astray";'],
    ["a comment", "// gone"],
  ])("does not count %s", (_what, text) => {
    expect(uses(text)).toBe(false);
  });

  it("looks at every source, and names what is left in the order given", () => {
    const sources = new Map([
      ["a.ts", "use(b);"],
      ["c.ts", "use(d);"],
    ]);
    expect(unusedNames(["x", "d", "b", "a"], sources)).toEqual(["x", "a"]);
  });
});

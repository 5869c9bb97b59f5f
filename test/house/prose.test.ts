import { describe, expect, it } from "vitest";
import { absentCitations, longDocLines, vagueComments } from "./prose.ts";

describe("the search for comments that hide who acts", () => {
  it("finds the line in a comment of any kind", () => {
    const text = "/**\n * Ends it.\n * Whoever waits is told.\n */\nconst a = 1; // For nobody.\n";
    expect(vagueComments("a.ts", text)).toEqual(["line 3: Whoever", "line 5: nobody"]);
  });

  it("accepts the words in code, and other words", () => {
    const text = 'const nobody = "somebody"; // The client, who has a body, is told.';
    expect(vagueComments("a.ts", text)).toEqual([]);
  });
});

describe("the search for citations of absent documents", () => {
  // Spelled so that this file does not cite anything itself.
  it.each([
    ["wire", ", 4.8"],
    ["seed", " 004"],
    ["design", ", section 12"],
    ["(A", "15)"],
    ["B", "8.1"],
    ["B", "9: refused"],
  ])("finds %s%s", (one, other) => {
    expect(absentCitations(`// As it says ${one}${other}`)).toHaveLength(1);
  });

  it("accepts promises, and what only looks alike", () => {
    expect(absentCitations("// P3, P10: as the wire has it, with seed 7 and A4 paper")).toEqual([]);
  });
});

describe("the search for long lines in docs", () => {
  it("finds those over 160 columns, also in tables", () => {
    const text = ["a".repeat(160), "é".repeat(160), `| ${"a".repeat(158)} |`].join("\n");
    expect(longDocLines(text)).toEqual(["line 3: 162 columns"]);
  });
});

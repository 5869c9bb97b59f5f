import { describe, expect, it } from "vitest";
import {
  FUNCTION_LINES_MAX,
  hastyWaits,
  idleTests,
  lineCount,
  longFunctions,
  longLines,
} from "./measure.ts";

describe("the measure of a file", () => {
  it("counts lines as an editor does, with or without a last line break", () => {
    expect(lineCount("a\nb\n")).toBe(2);
    expect(lineCount("a\nb")).toBe(2);
  });

  it("finds lines of more than 100 columns and counts signs, not code units", () => {
    expect(longLines(`${"a".repeat(100)}\n${"a".repeat(101)}`)).toEqual([2]);
    expect(longLines("𝄐".repeat(100))).toEqual([]);
  });

  it("lets an address be as long as it is", () => {
    expect(longLines(`// https://example.com/${"a".repeat(100)}`)).toEqual([]);
  });
});

describe("the measure of a function", () => {
  const body = (lines: number) => "\n".repeat(lines - 1);

  it.each([
    ["a function", (lines: number) => `function f() {${body(lines)}}`],
    ["an arrow", (lines: number) => `const f = () => {${body(lines)}};`],
    ["a method", (lines: number) => `class A { m() {${body(lines)}} }`],
    ["a test", (lines: number) => `it("holds", () => {${body(lines)}});`],
  ])("finds %s of more than 70 lines", (_what, source) => {
    expect(longFunctions("a.ts", source(FUNCTION_LINES_MAX))).toEqual([]);
    expect(longFunctions("a.ts", source(FUNCTION_LINES_MAX + 1))).toEqual(["line 1 (71 lines)"]);
  });

  it("measures what is inside a describe, not the describe", () => {
    const chapter = (text: string) => `describe.each(a)("b", () => {${body(80)}${text}});`;
    expect(longFunctions("a.ts", chapter(""))).toEqual([]);
    expect(longFunctions("a.ts", chapter(`it("c", () => {${body(80)}});`))).toEqual([
      "line 80 (80 lines)",
    ]);
  });
});

describe("the search for idle tests", () => {
  it.each(["it.skip", "it.only", "it.todo", "test.skip", "describe.only", "it.skipIf", "it.fails"])(
    "finds %s",
    (call) => {
      expect(idleTests("a.test.ts", `${call}("a", () => {});`)).toEqual([`line 1: ${call}`]);
    },
  );

  it("finds them in a chain", () => {
    expect(idleTests("a.test.ts", 'it.each(a).only("b", c);')).toEqual(["line 1: it.only"]);
  });

  it("is not tripped by other uses of the words, nor by prose", () => {
    expect(idleTests("a.test.ts", 'list.skip(1); it("skips only todo"); // it.skip()')).toEqual([]);
  });
});

describe("the search for waits that give up soon", () => {
  it.each(["vi.waitFor", "vi.waitUntil"])("finds %s", (call) => {
    expect(hastyWaits("a.test.ts", `await ${call}(() => a);`)).toEqual([`line 1: ${call}`]);
  });

  it("accepts others, and prose", () => {
    const text = "await expect.poll(() => a).toBe(1); vi.fn(); link.waitFor(a); // vi.waitFor()";
    expect(hastyWaits("a.test.ts", text)).toEqual([]);
  });
});

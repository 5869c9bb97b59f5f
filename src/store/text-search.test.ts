import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TextSearch } from "./text-search.ts";

describe("a search for several texts", () => {
  it("finds each of them at the beginning, in the middle and at the end", () => {
    const search = new TextSearch(["needle", "pin-cushion", "thread"]);
    for (const one of ["needle", "pin-cushion", "thread"]) {
      for (const text of [one, `${one} there`, `here ${one}`, `a ${one} b`]) {
        expect(search.isIn(text)).toBe(true);
      }
    }
  });

  it("finds no part of one, and nothing in a text that is shorter", () => {
    const search = new TextSearch(["needle", "pin-cushion"]);
    for (const text of ["", "n", "needl", "eedle", "pin-cushio", "need le", "pin cushion"]) {
      expect(search.isIn(text)).toBe(false);
    }
  });

  it("finds texts that begin alike, end alike, or are in one another", () => {
    const texts = ["abcabc", "abcabd", "xabcabcx", "bcabcd"];
    const search = new TextSearch(texts);
    for (const one of texts) expect(search.isIn(`aab${one}`)).toBe(true);
    expect(new TextSearch(["xabcabcx"]).isIn("abcabcx")).toBe(false);
  });

  it("of none finds none", () => {
    expect(new TextSearch([]).isIn("x".repeat(1_000))).toBe(false);
  });

  it("finds exactly what is there, in texts of few letters and of any", () => {
    const few = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
    const any = fc.string({ unit: "binary", maxLength: 40 });
    const sought = (text: typeof few) =>
      fc.array(
        text.filter(({ length }) => length >= 2),
        { maxLength: 8 },
      );
    const isExact = (texts: readonly string[], text: string) => {
      const search = new TextSearch(texts);
      const isThere = texts.some((one) => text.includes(one));
      return search.isIn(text) === isThere && texts.every((one) => search.isIn(text + one));
    };
    fc.assert(fc.property(sought(few), few, isExact), { numRuns: 500 });
    fc.assert(fc.property(sought(any), any, isExact), { numRuns: 500 });
  });
});

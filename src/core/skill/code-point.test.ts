import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byCodePoint } from "../text.ts";

describe("the order of code points", () => {
  it("is not the order of UTF-16, nor that of any language", () => {
    const names = ["z", "ä", "\u{1f3b5}", "\uffee", "a", "Z", "a-b", "ab", ""];
    const sorted = ["", "Z", "a", "a-b", "ab", "z", "ä", "\uffee", "\u{1f3b5}"];
    expect(names.toSorted(byCodePoint)).toEqual(sorted);
    expect(names.toSorted()).not.toEqual(sorted);
  });

  it("is the order of the bytes of UTF-8, for any two texts", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const bytes = Buffer.compare(Buffer.from(one), Buffer.from(other));
        expect(Math.sign(byCodePoint(one, other))).toBe(bytes);
      }),
    );
  });
});

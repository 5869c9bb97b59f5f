import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText, lastOfText, utf8Bytes } from "./text.ts";

/** Any units at all, halves of characters included. */
const anyText = fc
  .string({ unit: "binary" })
  .chain((text) =>
    fc.constantFrom(text, `${text}\ud83c`, `\udfb5${text}`, `${text}\ud83c\udfb5`, `ü€${text}`),
  );

describe("a text", () => {
  it("P10: weighs as many bytes as its encoding has", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });

  it("is cut at neither end within a character", () => {
    expect(cutText("a🎵b", 2)).toBe("a");
    expect(cutText("a🎵b", 3)).toBe("a🎵");
    expect(lastOfText("a🎵b", 2)).toBe("b");
    expect(lastOfText("a🎵b", 3)).toBe("🎵b");
  });
});

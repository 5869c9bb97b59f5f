import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { cutText, jsonBytes, lastOfText, utf8Bytes } from "./text.ts";

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

  it("P10: weighs as JSON what it would have when written, also inside of objects", () => {
    const anyValue = fc.letrec((tie) => ({
      value: fc.oneof(anyText, fc.jsonValue(), fc.constant(undefined), tie("list"), tie("object")),
      list: fc.array(tie("value"), { maxLength: 4 }),
      object: fc.dictionary(anyText, tie("value"), { maxKeys: 4 }),
    })).value;
    fc.assert(
      fc.property(anyValue, (value) => {
        const text = JSON.stringify(value) ?? "null";
        expect(jsonBytes(value)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });

  it("P10: is not written to be weighed", () => {
    const writing = vi.spyOn(JSON, "stringify");
    expect(jsonBytes([{ text: '"'.repeat(1_000) }])).toBe(2_013);
    expect(writing).not.toHaveBeenCalled();
    writing.mockRestore();
  });

  it("is cut at neither end within a character", () => {
    expect(cutText("a🎵b", 2)).toBe("a");
    expect(cutText("a🎵b", 3)).toBe("a🎵");
    expect(lastOfText("a🎵b", 2)).toBe("b");
    expect(lastOfText("a🎵b", 3)).toBe("🎵b");
  });
});

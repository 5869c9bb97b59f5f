import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputExcerpt } from "./output.ts";

const BOUNDS = { headBytesMax: 8, tailBytesMax: 4 };

/** All that is told of these chunks, piece by piece. */
function told(chunks: readonly Buffer[], bounds = BOUNDS): readonly string[] {
  const excerpt = new OutputExcerpt(bounds);
  const pieces = chunks.map((chunk) => {
    excerpt.push(chunk);
    return excerpt.take();
  });
  return [...pieces, excerpt.end()];
}

const buffers = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));

describe("the excerpt of an output", () => {
  it("is all of it, piece by piece, as long as there is room", () => {
    expect(told(buffers("one ", "two "))).toEqual(["one ", "two ", ""]);
    expect(told([])).toEqual([""]);
  });

  it("has the end of what is longer with its last piece", () => {
    expect(told(buffers("123456789", "abc"))).toEqual(["12345678", "", "9abc"]);
  });

  it("P10: says how much was left out, where it was", () => {
    expect(told(buffers("12345678", "abc", "def", "ghi")).join("")).toBe(
      "12345678\n… 5 bytes left out …\nfghi",
    );
  });

  it("breaks no character, at no border", () => {
    expect(told(buffers("1234567€89")).join("")).toBe("1234567€89");
    const bytes = Buffer.from("1234567€");
    const single = [...bytes].map((byte) => Buffer.from([byte]));
    expect(told(single).join("")).toBe("1234567€");
    expect(told(buffers("12345678", "€€€€€")).join("")).not.toContain("\ufffd");
  });

  it("P10: keeps to its bounds, whatever comes in whatever pieces", () => {
    const flood = Array.from({ length: 10_000 }, () => Buffer.from([0x80]));
    const room = BOUNDS.headBytesMax + BOUNDS.tailBytesMax + 30;
    expect(told(flood).join("").length).toBeLessThan(room);
  });

  it("loses nothing of any text that fits, wherever it is broken", () => {
    const text = fc.string({ unit: "binary", maxLength: 12 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), fc.nat(40), (whole, cuts, headBytesMax) => {
        const bytes = Buffer.from(whole);
        const places = [0, ...cuts.map((at) => Math.min(at, bytes.length)), bytes.length];
        const sorted = places.toSorted((a, b) => a - b);
        const chunks = sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
        const bounds = { headBytesMax, tailBytesMax: bytes.length };
        expect(told(chunks, bounds).join("")).toBe(bytes.toString("utf8"));
      }),
      { numRuns: 300 },
    );
  });
});

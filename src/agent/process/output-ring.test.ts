import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputRing } from "./output.ts";

function ringOf(bytesMax: number, ...chunks: (string | Buffer)[]): OutputRing {
  const ring = new OutputRing(bytesMax);
  for (const chunk of chunks) ring.push(Buffer.from(chunk));
  return ring;
}

describe("kept output", () => {
  it("is all of it while it fits, and its end when it does not", () => {
    expect(ringOf(10).read(true)).toEqual({ output: "", truncated: false });
    expect(ringOf(10, "12345", "67890").read(true)).toEqual({
      output: "1234567890",
      truncated: false,
    });
    expect(ringOf(10, "12345", "67890", "abc").read(true)).toEqual({
      output: "4567890abc",
      truncated: true,
    });
    expect(ringOf(4, "123456789").read(true)).toEqual({ output: "6789", truncated: true });
    expect(ringOf(0, "1").read(true)).toEqual({ output: "", truncated: true });
    expect(ringOf(0).read(true)).toEqual({ output: "", truncated: false });
  });

  it("begins with a whole character, even if that makes it shorter", () => {
    expect(ringOf(5, "aüü€").read(true).output).toBe("ü€");
    expect(ringOf(4, "ü€").read(true).output).toBe("€");
    expect(ringOf(6, "x€😀").read(true).output).toBe("😀");
    expect(ringOf(3, "😀").read(true).output).toBe("");
  });

  it("leaves a half character at its end for later, until there is no later", () => {
    const [start, end] = [Buffer.from("a€").subarray(0, 3), Buffer.from("€").subarray(2)];
    const ring = ringOf(10, start);
    expect(ring.read(false).output).toBe("a");
    expect(ring.read(true).output).toBe("a\ufffd");
    ring.push(end);
    expect(ring.read(false).output).toBe("a€");
  });

  it("P10: stays within the limit even where bytes are no text", () => {
    const { output, truncated } = ringOf(100, Buffer.alloc(100, 0xff)).read(true);
    expect([Buffer.byteLength(output), truncated]).toEqual([99, true]);
    expect(output).toMatch(/^\ufffd+$/);
  });

  it("P10: is the end of everything, however it came", () => {
    const chunks = fc.array(fc.string({ unit: "grapheme", maxLength: 20 }), { maxLength: 20 });
    fc.assert(
      fc.property(fc.nat(64), chunks, (bytesMax, texts) => {
        const all = Buffer.from(texts.join(""));
        const { output, truncated } = ringOf(bytesMax, ...texts).read(true);
        const kept = Buffer.from(output);
        expect(truncated).toBe(all.length > bytesMax);
        expect(all.subarray(all.length - kept.length).equals(kept)).toBe(true);
        expect(kept.length).toBeGreaterThan(Math.min(all.length, bytesMax) - 4);
        expect(kept.length).toBeLessThanOrEqual(bytesMax);
      }),
    );
  });
});

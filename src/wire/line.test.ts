import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, OVERLONG } from "./rpc.ts";

type Line = string | typeof OVERLONG;

/** All lines of a stream that comes in these chunks, and what is left at its end. */
function split(chunks: readonly Buffer[], bytesMax = 1_000): { lines: Line[]; rest: Line } {
  const splitter = new LineSplitter(bytesMax);
  const lines = chunks.flatMap((chunk) => [...splitter.feed(chunk)]);
  return { lines, rest: splitter.rest() };
}

/** The same bytes, cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])];
  at.sort((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const bytes = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));

describe("a stream of bytes", () => {
  it("is cut into lines, without their ends and without empty ones", () => {
    expect(split(bytes("a\nb\n\n", "c", "d\ne"))).toEqual({ lines: ["a", "b", "cd"], rest: "e" });
  });

  it("may end its lines with CR LF, wherever a chunk ends", () => {
    expect(split(bytes("a\r\nb\r", "\n\r\nc\rd\n"))).toEqual({
      lines: ["a", "b", "c\rd"],
      rest: "",
    });
  });

  it("may have its last line without an end", () => {
    expect(split(bytes("a\n", "b", "c")).rest).toBe("bc");
    expect(split(bytes("a\n")).rest).toBe("");
    expect(split(bytes("b\r")).rest).toBe("b");
  });

  it("may be cut in the middle of a character", () => {
    const note = Buffer.from("𝄐\n");
    expect(split([...note].map((byte) => Buffer.from([byte]))).lines).toEqual(["𝄐"]);
  });

  it("may hold bytes that are no text, and the lines around them are whole", () => {
    const lines = split([Buffer.from([0x61, 0x0a, 0xff, 0xfe, 0x0a, 0x62, 0x0a])]).lines;
    expect(lines).toEqual(["a", "\ufffd\ufffd", "b"]);
  });

  it("gives the same lines for any chunks", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 20 }),
      fc.constantFrom("\n", "\r\n", "\r", "\n\n"),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 20 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.integer({ min: 1, max: 40 }),
        (pieces, places, bytesMax) => {
          const stream = Buffer.from(pieces.join(""));
          const whole = split([stream], bytesMax);
          expect(split(cut(stream, places), bytesMax)).toEqual(whole);
          const single = [...stream].map((byte) => Buffer.from([byte]));
          expect(split(single, bytesMax)).toEqual(whole);
        },
      ),
    );
  });

  it("gives each line that is not too long, as a plain split would", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => {
      return text.replaceAll(/[\r\n]/g, "");
    });
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (texts, places) => {
        const stream = Buffer.from(texts.map((text) => `${text}\n`).join(""));
        const expected = texts
          .filter((text) => text !== "")
          .map((text) => (Buffer.byteLength(text) > 50 ? OVERLONG : text));
        expect(split(cut(stream, places), 50)).toEqual({ lines: expected, rest: "" });
      }),
    );
  });

  it("does not share memory with its chunks", () => {
    const splitter = new LineSplitter(10);
    const chunk = Buffer.from("ab");
    expect([...splitter.feed(chunk)]).toEqual([]);
    chunk.fill("x");
    expect([...splitter.feed(Buffer.from("c\n"))]).toEqual(["abc"]);
  });
});

describe("a line that is too long", () => {
  it("is told of once, at its end, and the next one is read", () => {
    expect(split(bytes("abcde", "f\nok\n"), 5)).toEqual({ lines: [OVERLONG, "ok"], rest: "" });
    expect(split(bytes("abcdef\nok\n"), 5)).toEqual({ lines: [OVERLONG, "ok"], rest: "" });
    expect(split(bytes("abcde\n"), 5).lines).toEqual(["abcde"]);
  });

  it("is told of if the stream ends in it", () => {
    expect(split(bytes("abc", "def"), 5)).toEqual({ lines: [], rest: OVERLONG });
    expect(split(bytes("abcdef"), 5)).toEqual({ lines: [], rest: OVERLONG });
  });

  it("P10: costs nothing while it grows", () => {
    const splitter = new LineSplitter(64 * 1_024);
    const chunk = Buffer.alloc(1_024 * 1_024, "x");
    const before = bytesHeld();
    for (let megabytes = 0; megabytes < 256; megabytes += 1) {
      expect([...splitter.feed(chunk)]).toEqual([]);
    }
    expect(bytesHeld() - before).toBeLessThan(16 * 1_024 * 1_024);
    expect([...splitter.feed(Buffer.from("\n"))]).toEqual([OVERLONG]);
  });
});

describe("a line that comes byte by byte", () => {
  it("P10: is held in a few times its size, not in one object for each byte", () => {
    const bytesMax = 1_024 * 1_024;
    const splitter = new LineSplitter(bytesMax);
    const before = bytesHeld();
    for (let count = 0; count < bytesMax; count += 1) {
      for (const _ of splitter.feed(Buffer.from("x"))) throw new Error("it has not ended");
    }
    expect(bytesHeld() - before).toBeLessThan(8 * bytesMax);
    expect([...splitter.feed(Buffer.from("\n"))]).toEqual(["x".repeat(bytesMax)]);
  });
});

/** What is still held once everything that can be thrown away has been: garbage proves nothing. */
function bytesHeld() {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

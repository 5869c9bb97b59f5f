import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Outbox } from "./client-link.ts";

/** A reader that takes a write only when it is told to. */
function slowReader() {
  const written: string[] = [];
  const taken: (() => void)[] = [];
  const output = new Writable({
    highWaterMark: 10,
    decodeStrings: false,
    write(text: string, _, done) {
      written.push(text);
      taken.push(done);
    },
  });
  return { output, written, take: () => taken.shift()?.() };
}

const loop = () => new Promise((resolve) => setImmediate(resolve));

describe("the outbox", () => {
  it("writes what is said in one turn of the loop at once", async () => {
    const { output, written } = slowReader();
    const outbox = new Outbox(output);
    outbox.post("a\n");
    expect(outbox.send("b\n")).toBeUndefined();
    expect(written).toEqual([]);
    await loop();
    expect(written).toEqual(["a\nb\n"]);
  });

  it("does not gather more than its batch", () => {
    const { output, written } = slowReader();
    new Outbox(output).post("x".repeat(64 * 1_024));
    expect(written).toHaveLength(1);
  });

  it("P10: makes the one who speaks wait for a reader that is behind", async () => {
    const { output, take } = slowReader();
    const outbox = new Outbox(output);
    outbox.post("more than the high-water mark\n");
    await loop();
    const full = outbox.send("b\n");
    expect(full).toBeInstanceOf(Promise);
    take();
    await loop();
    take();
    await full;
    expect(outbox.send("c\n")).toBeUndefined();
  });

  it("is flushed when everything has been taken, in order", async () => {
    const { output, written, take } = slowReader();
    const outbox = new Outbox(output);
    outbox.post("a");
    await loop();
    outbox.post("b");
    const flushed = outbox.flushed();
    take();
    await loop();
    take();
    await flushed;
    expect(written).toEqual(["a", "b"]);
  });
});

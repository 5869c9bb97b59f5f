import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { STORE_HEAVY_CALLS_MAX } from "../../core/limits.ts";
import type { FrailData, FrailOps } from "./frail-thread.fixture.ts";
import { Thread } from "./thread.ts";

const SCRIPT = new URL("frail-thread.fixture.ts", import.meta.url);
const FLOOD = new URL("flood-child.fixture.ts", import.meta.url);
const ENDED_WRITER = new URL("ended-writer-child.fixture.ts", import.meta.url);
const SECOND_THREAD = new URL("second-thread-child.fixture.ts", import.meta.url);
const NEVER = Number.MAX_SAFE_INTEGER;
const ENDED = "its thread has ended";

/** Far less than the pages that are asked for weigh. */
const HEAP_MEGABYTES = 128;
const CHILD_MS_MAX = 120_000;

function frail({ isReader }: { readonly isReader: boolean }) {
  const data: FrailData = { starts: new Int32Array(new SharedArrayBuffer(4)) };
  const ends: string[] = [];
  const thread = new Thread<FrailOps>(SCRIPT, data, {
    isHeavy: (op) => isReader || op === "heavyTogether",
    isRepeatable: () => isReader,
    hasEnded: ({ message }) => ends.push(message),
  });
  onTestFinished(() => thread.end());
  return { thread, ends };
}

describe("a thread of the store", () => {
  it("P10: has a few heavy calls at a time, and every other at once", async () => {
    const reader = frail({ isReader: true }).thread;
    const heavy = Array.from({ length: 500 }, () => reader.call("together"));
    expect(Math.max(...(await Promise.all(heavy)))).toBe(STORE_HEAVY_CALLS_MAX);
    const writer = frail({ isReader: false }).thread;
    const light = Array.from({ length: 500 }, () => writer.call("together"));
    expect(Math.max(...(await Promise.all(light)))).toBe(500);
  });

  it("is given its calls in the order in which they were made, heavy ones among them", async () => {
    const { thread } = frail({ isReader: false });
    const calls = Array.from({ length: 100 }, (_, index) => {
      return index % 2 === 0 ? thread.call("heavyTogether") : thread.call("place");
    });
    const places = (await Promise.all(calls)).filter((_, index) => index % 2 === 1);
    expect(places).toEqual(Array.from({ length: 50 }, (_, index) => index * 2 + 1));
  });

  it("P5: that ends is replaced, and a read that it had is made again", async () => {
    const { thread, ends } = frail({ isReader: true });
    const reads = [thread.call("surviveFrom", 2), thread.call("together")];
    expect(await Promise.all(reads)).toEqual([2, 2]);
    expect(ends).toEqual([ENDED]);
  });

  it("P5: that ends with a write says so, and takes the next one", async () => {
    const { thread } = frail({ isReader: false });
    await expect(thread.call("surviveFrom", 2)).rejects.toThrow(ENDED);
    expect(await thread.call("surviveFrom", 2)).toBe(2);
  });

  it("fails a read that ends every thread, and goes on with the others", async () => {
    const { thread, ends } = frail({ isReader: true });
    await expect(thread.call("surviveFrom", NEVER)).rejects.toThrow(ENDED);
    expect(await thread.call("together")).toBe(1);
    expect(ends).toEqual([ENDED, ENDED]);
  });

  it("finishes what it was given before it ends, however much waits", async () => {
    const { thread } = frail({ isReader: true });
    const reads = Array.from({ length: 50 }, () => thread.call("surviveFrom", 1));
    await thread.end();
    expect(await Promise.all(reads)).toEqual(reads.map(() => 1));
    await expect(thread.call("together")).rejects.toThrow("ending");
  });

  it("ends also while it is being replaced, and lets nothing wait", async () => {
    const { thread } = frail({ isReader: false });
    await expect(thread.call("surviveFrom", NEVER)).rejects.toThrow(ENDED);
    const late = thread.call("together");
    const refused = expect(late).rejects.toThrow(ENDED);
    await thread.end();
    await refused;
  });
});

/** What a child process that has a store in an empty place says at its end. */
async function saidBy({ pathname: script }: URL, ...flags: readonly string[]): Promise<unknown> {
  const place = await mkdtemp(join(tmpdir(), "fermata-thread-"));
  onTestFinished(() => rm(place, { recursive: true, force: true }));
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, place]);
  return JSON.parse(stdout);
}

describe("P10, P5: the SQLite store", () => {
  it(
    "has a second thread once there is work for two, and misses nothing without it",
    async () => {
      const said = await saidBy(SECOND_THREAD);
      const events = { read: ['{"n":20}'], last: '{"n":220}' };
      const slowly = [1, 2, 2];
      expect(said).toEqual({ alone: 1, together: 2, written: 200, ...events, slowly });
    },
    CHILD_MS_MAX,
  );

  it(
    "with little memory reads hundreds of pages that are asked for at once, and goes on",
    async () => {
      const said = await saidBy(FLOOD, `--max-old-space-size=${HEAP_MEGABYTES}`);
      expect(said).toEqual({ answers: ["page"], after: "page" });
    },
    CHILD_MS_MAX,
  );

  it(
    "whose writing thread ends amid its work loses nothing acknowledged, and goes on",
    async () => {
      const rounds = await saidBy(ENDED_WRITER);
      expect(rounds).toHaveLength(5);
      const codes = new Set<string>();
      for (const [index, round] of Object.entries(Array.isArray(rounds) ? rounds : [])) {
        // All is there that was acknowledged; a writer that was quick may have done all of it.
        expect(round.stored).toBeGreaterThanOrEqual(round.acknowledged);
        expect(round.threads).toBe(Number(index) + 2);
        for (const code of round.codes) codes.add(code);
      }
      expect([...codes]).toEqual(["store_unavailable"]);
    },
    CHILD_MS_MAX,
  );
});

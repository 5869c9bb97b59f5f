import { describe, expect, it } from "vitest";
import type { Refusal } from "../../core/error.ts";
import { COMMIT_YIELD_CHARS } from "../../core/limits.ts";
import { message } from "../../core/replay/log.fixture.ts";
import { ok } from "../../core/result.ts";
import { altered } from "../../session/altered-store.fixture.ts";
import { keyOf, openMemoryStore } from "../../store/sample.fixture.ts";
import type { Commit } from "../../store/store.ts";
import { CommitPipeline } from "./pipeline.ts";
import { writtenAs } from "./written.ts";

/** A pipeline, what its store was given in which order, and the turns of the loop that it wants. */
async function opened() {
  const given: string[] = [];
  const turns: (() => void)[] = [];
  const commit = async (_key: unknown, _term: number, { events }: Commit) => {
    given.push(events.map((text) => text[0]).join(""));
    return ok({ revision: 1, lastEventId: given.length });
  };
  const store = altered(await openMemoryStore(), { commit });
  const failures: (Refusal | null)[] = [];
  const pipeline = new CommitPipeline(
    { store, yield: () => new Promise<void>((resolve) => turns.push(resolve)) },
    { key: keyOf("s"), term: 1, lastEventId: 0 },
    { durable: () => {}, failed: (why) => failures.push(why) },
  );
  let nextId = 1;
  const add = (name: string, chars = 1) => {
    const text = name.padEnd(chars, "x");
    const written = [writtenAs(message(nextId, text), text)];
    nextId += 1;
    pipeline.add({ ...NOTHING, written, settled: (why) => failures.push(why) });
  };
  return { given, turns, add, pipeline, failures };
}

const NOTHING = { journal: [], record: null, snapshot: null, session: null };

const LARGE = COMMIT_YIELD_CHARS + 1;

/** All that needs no further turn of the loop has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("P10: a large commit", () => {
  it("is given to the store in a turn of its own, and none goes before it", async () => {
    const { given, turns, add, pipeline, failures } = await opened();
    add("a");
    await settled();
    expect([given, turns.length]).toEqual([["a"], 0]);
    for (const [name, chars] of [
      ["b", LARGE],
      ["c", 1],
      ["d", LARGE],
      ["e", 1],
    ] as const) {
      add(name, chars);
      await settled();
    }
    expect([given, turns.length]).toEqual([["a"], 1]);
    turns[0]?.();
    await settled();
    expect([given, turns.length]).toEqual([["a", "b", "c"], 2]);
    turns[1]?.();
    await pipeline.drained();
    expect(given).toEqual(["a", "b", "c", "d", "e"]);
    expect(failures).toEqual([null, null, null, null, null]);
    add("f");
    await settled();
    expect([given.at(-1), turns.length]).toEqual(["f", 2]);
  });
});

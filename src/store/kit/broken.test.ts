import { closeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryHarness } from "../memory/harness.fixture.ts";
import { altered } from "./broken/altered.ts";
import { litters } from "./broken/loss.ts";
import { type CheckOutcome, RecordingRunner } from "./harness.ts";
import {
  BROKEN_STORES,
  type BrokenStore,
  CRASH_CHECKS,
  type StoreHarness,
  storePromises,
} from "./index.ts";

async function outcomesOf(harness: StoreHarness): Promise<readonly CheckOutcome[]> {
  const runner = new RecordingRunner();
  storePromises(runner, harness);
  return runner.run();
}

/** The numbers in front of a title: `49, 50: …` has two. */
function numbersOf({ title }: CheckOutcome): readonly string[] {
  return title.slice(0, title.indexOf(":")).split(", ");
}

function failuresOf(outcomes: readonly CheckOutcome[]): readonly CheckOutcome[] {
  return outcomes.filter(({ outcome }) => outcome === "fail");
}

function fails(outcomes: readonly CheckOutcome[], { by, saying }: Omit<BrokenStore, "store">) {
  const failures = failuresOf(outcomes);
  const numbers = failures.flatMap(numbersOf);
  expect(numbers).toEqual(expect.arrayContaining([...by]));
  const first = failures.filter((outcome) => numbersOf(outcome).includes(by[0] ?? ""));
  expect(first.map(({ detail }) => detail).join("\n")).toMatch(saying);
  const shape = Array.from({ length: 12 }, (_, index) => `${index + 1}`);
  expect(numbers.filter((number) => shape.includes(number))).toEqual([]);
}

describe("the kit", () => {
  const sound = outcomesOf(memoryHarness(() => altered(() => ({}))));

  it("finds nothing wrong with the memory store, wrapped as the broken ones are", async () => {
    expect(failuresOf(await sound)).toEqual([]);
  });

  it.each(Object.entries(BROKEN_STORES))("finds out a store that %s", async (_, broken) => {
    fails(await outcomesOf(memoryHarness(broken.store)), broken);
  });

  it("finds out a store that says it will remember, and does not", async () => {
    const outcomes = await outcomesOf({ ...memoryHarness(), persists: true });
    const by = ["22", "20", "21", "57", "60", "61", "J9", "L5", "M5", "N10", "N20", "O6"];
    fails(outcomes, { by, saying: /session_not_found/ });
  });

  it("finds out a store that litters", async () => {
    const handles: number[] = [];
    let place = "";
    const root = () => join(place, "data");
    const outcomes = await outcomesOf({
      ...memoryHarness(() => litters(root, handles)),
      makePlace: async () => {
        place = await mkdtemp(join(tmpdir(), "fermata-litter-"));
        return place;
      },
      clearPlace: (gone) => rm(gone, { recursive: true, force: true }),
      world: { root },
    });
    for (const handle of handles) closeSync(handle);
    fails(outcomes, { by: ["77", "21", "39", "73"], saying: /diary\.log has mode 644/ });
  });

  it("has every check of the reference that concerns stores, or leaves it to crashes", async () => {
    const here = (await sound).flatMap(numbersOf);
    const numbers = new Set([...here, ...Object.keys(CRASH_CHECKS)]);
    const expected = Array.from({ length: 78 }, (_, index) => `${index + 1}`);
    expect(expected.filter((number) => !numbers.has(number))).toEqual([]);
  });

  it("says of every check that does not apply why it does not", async () => {
    const reasons = (await sound).filter(({ outcome }) => outcome === "n/a");
    expect(new Set(reasons.map(({ detail }) => detail))).toEqual(
      new Set([
        "nothing outlives an instance of this store",
        "every configuration can be reached",
        "the harness has no makeReadOnly",
        "the harness has no root",
        "the harness has no remove",
        "the harness has no fillUp",
        "journaling is true",
        "concurrentReaders is true",
        "stateSlot is null",
        "snapshotBytesLimit is below the limit of a slot",
        "snapshotBytesLimit is below the size of a page",
      ]),
    );
  });
});

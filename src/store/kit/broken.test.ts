import { closeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { memoryHarness } from "../memory/harness.fixture.ts";
import { altered } from "./broken/altered.ts";
import { litters } from "./broken/loss.ts";
import { type CheckOutcome, RecordingRunner, type Runner } from "./harness.ts";
import {
  BROKEN_STORES,
  type BrokenStore,
  CRASH_CHECKS,
  type StoreHarness,
  storePromises,
} from "./index.ts";

/** The outcomes of all checks, or of those that have one of these numbers. */
async function outcomesOf(
  harness: StoreHarness,
  only?: readonly string[],
): Promise<readonly CheckOutcome[]> {
  const all = new RecordingRunner();
  const isAsked = (title: string) =>
    only === undefined || numbersOf({ title }).some((number) => only.includes(number));
  const runner: Runner = {
    test: (title, body) => isAsked(title) && all.test(title, body),
    notApplicable: (title, reason) => isAsked(title) && all.notApplicable(title, reason),
  };
  storePromises(runner, harness);
  return all.run();
}

/** The checks of a store's shape. No store is broken in that: each must pass them. */
const SHAPE = Array.from({ length: 12 }, (_, index) => `${index + 1}`);

/** The numbers in front of a title: `49, 50: …` has two. */
function numbersOf({ title }: Pick<CheckOutcome, "title">): readonly string[] {
  return title.slice(0, title.indexOf(":")).split(", ");
}

function failuresOf(outcomes: readonly CheckOutcome[]): readonly CheckOutcome[] {
  return outcomes.filter(({ outcome }) => outcome === "fail");
}

type Fault = Omit<BrokenStore, "store">;

/** Only the checks that must find the fault are run, and those that must not. */
async function isFoundOut(harness: StoreHarness, { by, saying }: Fault) {
  const outcomes = await outcomesOf(harness, [...by, ...SHAPE]);
  const failures = failuresOf(outcomes);
  const numbers = failures.flatMap(numbersOf);
  expect(numbers).toEqual(expect.arrayContaining([...by]));
  const first = failures.filter((outcome) => numbersOf(outcome).includes(by[0] ?? ""));
  expect(first.map(({ detail }) => detail).join("\n")).toMatch(saying);
  expect(numbers.filter((number) => SHAPE.includes(number))).toEqual([]);
}

describe("the kit", () => {
  const sound = outcomesOf(memoryHarness(() => altered(() => ({}))));

  it("finds nothing wrong with the memory store, wrapped as the broken ones are", async () => {
    expect(failuresOf(await sound)).toEqual([]);
  });

  it.each(Object.entries(BROKEN_STORES))("finds out a store that %s", async (_, broken) => {
    await isFoundOut(memoryHarness(broken.store), broken);
  });

  it("finds out a store that says it will remember, and does not", async () => {
    const by = ["22", "20", "21", "57", "60", "61", "J9", "L5", "M5", "N10", "N20", "O6"];
    const forgetful = { ...memoryHarness(), persists: true };
    await isFoundOut(forgetful, { by, saying: /session_not_found/ });
  });

  it("finds out a store that litters", async () => {
    const handles: number[] = [];
    let place = "";
    const root = () => join(place, "data");
    const littering: StoreHarness = {
      ...memoryHarness(() => litters(root, handles)),
      makePlace: async () => {
        place = await mkdtemp(join(tmpdir(), "fermata-litter-"));
        return place;
      },
      clearPlace: (gone) => rm(gone, { recursive: true, force: true }),
      world: { root },
    };
    onTestFinished(() => {
      for (const handle of handles) closeSync(handle);
    });
    const by = ["77", "21", "39", "73"];
    await isFoundOut(littering, { by, saying: /diary\.log has mode 644/ });
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

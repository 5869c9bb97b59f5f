import { closeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryHarness } from "../memory/harness.fixture.ts";
import type { SessionStore } from "../store.ts";
import { altered } from "./broken/altered.ts";
import * as identity from "./broken/identity.ts";
import { litters } from "./broken/litter.ts";
import * as loss from "./broken/loss.ts";
import * as ownership from "./broken/ownership.ts";
import { CRASH_CHECKS, type StoreHarness, storePromises } from "./index.ts";
import { type Outcome, RecordingRunner } from "./recording-runner.ts";

async function outcomesOf(harness: StoreHarness): Promise<readonly Outcome[]> {
  const runner = new RecordingRunner();
  storePromises(runner, harness);
  return runner.run();
}

/** The numbers in front of a title: `49, 50: …` has two. */
function numbersOf({ title }: Outcome): readonly string[] {
  return title.slice(0, title.indexOf(":")).split(", ");
}

function failuresOf(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter(({ outcome }) => outcome === "fail");
}

interface Broken {
  readonly store: () => SessionStore;
  /** The checks that must notice. Others may, too. */
  readonly by: readonly string[];
  /** What the first of them must say. */
  readonly saying: RegExp;
}

const BROKEN: Readonly<Record<string, Broken>> = {
  "drops slots": {
    store: loss.dropsSlots,
    by: ["25", "26", "29", "30", "43", "63", "75"],
    saying: /strictly deep-equal/,
  },
  "commits half": {
    store: loss.commitsHalf,
    by: ["43", "36", "37", "40", "51", "56", "66", "72"],
    saying: /displayName|lastEventId/,
  },
  "loses the last append": {
    store: loss.losesLastAppend,
    by: ["57", "60", "51", "K1", "K2", "K5"],
    saying: /strictly deep-equal/,
  },
  "maps two ids to one place": {
    store: identity.mapsTwoIdsToOnePlace,
    by: ["39", "71"],
    saying: /session_id_conflict/,
  },
  "ignores fencing": {
    store: ownership.ignoresFencing,
    by: ["J1", "J2", "J5", "J7", "J10", "43", "51"],
    saying: /accepted, instead of writer_lost/,
  },
  "accepts foreign store ids": {
    store: identity.acceptsForeignStoreIds,
    by: ["36"],
    saying: /accepted, instead of resume_mismatch/,
  },
  "trims past the snapshot": {
    store: loss.trimsPastTheSnapshot,
    by: ["K6"],
    saying: /a page has no rows, and says that there are more/,
  },
  "shares what it keeps": {
    store: identity.sharesWhatItKeeps,
    by: ["33"],
    saying: /sha256/,
  },
  "throws raw": {
    store: identity.throwsRaw,
    by: ["38", "18", "34", "43", "51", "56", "J1", "K1"],
    saying: /commit of null threw Error: invalid_store_input/,
  },
  "leaks across tenants": {
    store: identity.leaksAcrossTenants,
    by: ["L2", "L3", "L4"],
    saying: /theirs/,
  },
  "takes stale revisions": {
    store: ownership.takesStaleRevisions,
    by: ["56", "43", "51"],
    saying: /accepted, instead of stale_revision/,
  },
  "steals sessions": {
    store: ownership.stealsSessions,
    by: ["52", "J3", "J7", "J8"],
    saying: /accepted, instead of session_locked/,
  },
  "lets one refusal fail a whole group": {
    store: loss.failsTogether,
    by: ["51"],
    saying: /false !== true/,
  },
  "forgets the journals of deleted sessions": {
    store: loss.forgetsJournals,
    by: ["M4"],
    saying: /made/,
  },
  "keeps no audit": {
    store: loss.keepsNoAudit,
    by: ["72", "43", "M4"],
    saying: /made/,
  },
  "ignores where a commit belongs": {
    store: ownership.ignoresPlaces,
    by: ["P10", "K1", "43", "R2", "R8"],
    saying: /true !== false|strictly/,
  },
  "lets the older term of a reopened session write": {
    store: ownership.letsOlderTermsWrite,
    by: ["P1", "P2", "P4"],
    saying: /accepted, instead of writer_lost/,
  },
  "deletes for anybody": {
    store: ownership.deletesForAnybody,
    by: ["Q1", "Q4"],
    saying: /accepted, instead of session_locked/,
  },
  "seizes in silence": {
    store: ownership.seizesInSilence,
    by: ["P7", "72"],
    saying: /accepted, instead of invalid_store_input/,
  },
  "cuts a log and keeps its epoch": {
    store: loss.keepsEpochs,
    by: ["R1", "R2", "R3"],
    saying: /epoch/,
  },
  "ends its pages too early": {
    store: loss.endsPagesEarly,
    by: ["S2", "S3", "S4"],
    saying: /the pages are not all that was written/,
  },
  "pages by counting": {
    store: identity.pagesByCounting,
    by: ["H3", "H4"],
    saying: /strictly deep-equal/,
  },
};

function fails(outcomes: readonly Outcome[], { by, saying }: Omit<Broken, "store">) {
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

  it.each(Object.entries(BROKEN))("finds out a store that %s", async (_, broken) => {
    fails(await outcomesOf(memoryHarness(broken.store)), broken);
  });

  it("finds out a store that says it will remember, and does not", async () => {
    const outcomes = await outcomesOf({ ...memoryHarness(), persists: true });
    const by = ["22", "20", "21", "57", "60", "61", "J9", "L5", "M5", "N10", "O6"];
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
        "largeSlotStreaming is false",
        "concurrentReaders is true",
        "stateSlot is null",
        "snapshotBytesLimit is below the limit of a slot",
        "snapshotBytesLimit is below the size of a page",
      ]),
    );
  });
});

import { describe, expect, it } from "vitest";
import { type CheckOutcome, RecordingRunner, storePromises } from "../kit/index.ts";
import type { SessionStore } from "../store.ts";
import { memoryHarness } from "./harness.fixture.ts";
import { claimedSlotted, slottedStore } from "./slotted.fixture.ts";

/** What is asked of no other store that there is. */
const WITHOUT_JOURNAL = "62: events without a snapshot are refused";
const OWN_SLOT_FIRST = "74: its own slot is the first of every snapshot";

async function outcomesOf(store: () => SessionStore): Promise<readonly CheckOutcome[]> {
  const runner = new RecordingRunner();
  const isWanted = (title: string) => [WITHOUT_JOURNAL, OWN_SLOT_FIRST].includes(title);
  storePromises(
    {
      test: (title, body) => (isWanted(title) ? runner.test(title, body) : undefined),
      notApplicable: (title, why) =>
        isWanted(title) ? runner.notApplicable(title, why) : undefined,
    },
    memoryHarness(store),
  );
  return runner.run();
}

describe("62, 74: of a store with its own slot and without a journal the kit", () => {
  it("finds nothing wrong if it keeps what its contract says", async () => {
    expect(await outcomesOf(slottedStore)).toEqual([
      { title: WITHOUT_JOURNAL, outcome: "pass", detail: "" },
      { title: OWN_SLOT_FIRST, outcome: "pass", detail: "" },
    ]);
  });

  it("finds out one that only says so", async () => {
    expect(await outcomesOf(claimedSlotted)).toMatchObject([
      { outcome: "fail", detail: expect.stringContaining("instead of invalid_store_input") },
      { outcome: "fail", detail: expect.stringContaining("memory.own") },
    ]);
  });
});

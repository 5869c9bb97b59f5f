import { describe, expect, it } from "vitest";
import { storePromises } from "../kit/index.ts";
import { memoryHarness } from "./harness.fixture.ts";
import { memoryStore } from "./store.ts";

/** Most checks are the same with any limit, and quick with a low one. */
const COMMIT_BYTES_LOW = 1_024 * 1_024;

/** Checks that are not tried, with the reasons. */
const left = new Map<string, string>();

describe("the memory store", () => {
  const notApplicable = (title: string, reason: string) => void left.set(title, reason);
  const harness = memoryHarness(() => memoryStore(COMMIT_BYTES_LOW));
  storePromises({ test: it, notApplicable }, harness);
});

describe("the memory store, with commits as large as servers allow", () => {
  const isOfLimits = (title: string) =>
    title.startsWith("63:") || left.get(title)?.startsWith("snapshotBytesLimit") === true;
  storePromises(
    {
      test: (title, body, timeoutMs) => {
        if (isOfLimits(title)) it(title, body, timeoutMs);
        if (left.get(title)?.startsWith("snapshotBytesLimit")) left.delete(title);
      },
      notApplicable: () => {},
    },
    memoryHarness(),
  );

  it("leaves untried only what a store without files cannot have", () => {
    expect(new Set(left.values())).toEqual(
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
      ]),
    );
  });
});

import { describe, expect, it } from "vitest";
import { itWhere } from "../../platform/machine.fixture.ts";
import { type StoreHarness, storePromises } from "../kit/index.ts";
import { smallDiskHarness, sqliteHarness } from "./harness.fixture.ts";

/** Only this one is for want of something on the machine. */
const NOT_FROZEN = "the harness has no makeReadOnly";

describe("the SQLite store", () => {
  /** The checks that are not tried here, by number. */
  const left: string[] = [];
  const notApplicable = (title: string, reason: string) => {
    if (reason === NOT_FROZEN) itWhere(reason, title, () => {});
    else left.push(title.slice(0, title.indexOf(":")));
  };
  storePromises({ test: it, notApplicable }, sqliteHarness());

  it("leaves untried what is tried elsewhere, or is of another kind of store", () => {
    // 46: below. 58: trouble.test.ts. 63, S5: the memory store has commits of the usual size.
    const elsewhere = ["46", "58", "63", "S5"];
    const ofOthers = ["62", "66", "74"];
    expect(left.toSorted()).toEqual([...elsewhere, ...ofOthers].toSorted());
  });
});

/** A disk that can be filled is not one that keeps anything, so only its check is tried on it. */
describe("the SQLite store on a small disk", () => {
  const harness = smallDiskHarness();
  const title = "46: a full disk refuses writes, and keeps what it has";
  if (typeof harness === "string") itWhere(harness, title, () => {});
  else onlyFullness(harness);
});

function onlyFullness(harness: StoreHarness) {
  const test = (title: string, body: () => Promise<void>, timeoutMs?: number) => {
    if (title.startsWith("46:")) it(title, body, timeoutMs);
  };
  storePromises({ test, notApplicable: () => {} }, harness);
}

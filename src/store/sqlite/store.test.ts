import { describe, it } from "vitest";
import { itWhere } from "../../platform/machine.fixture.ts";
import { type StoreHarness, storePromises } from "../kit/index.ts";
import { smallDiskHarness, sqliteHarness } from "./harness.fixture.ts";

describe("the SQLite store", () => {
  storePromises({ test: it }, sqliteHarness());
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
  storePromises({ test }, harness);
}

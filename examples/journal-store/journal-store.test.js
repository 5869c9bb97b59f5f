// Holds the store to the contract. Run it with: node --test

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { folderHarness, storePromises } from "fermata/store/kit";
import { crashPromises } from "fermata/store/kit/crash";
import journalStore, { FAILPOINTS } from "./journal-store.js";

describe("the journal store", () => {
  storePromises(
    { test, notApplicable: (title, reason) => test(title, { skip: reason }, () => {}) },
    folderHarness(journalStore),
  );
});

describe("the journal store, killed", () => {
  const subject = {
    script: new URL("journal-store.crash.js", import.meta.url),
    factory: "journal",
    store: journalStore,
    makePlace: () => mkdtemp(join(tmpdir(), "journal-store-")),
    clearPlace: (/** @type {string} */ place) => rm(place, { recursive: true, force: true }),
    config: (/** @type {string} */ place) => ({ active: true, path: join(place, "data") }),
    failpoints: FAILPOINTS,
  };
  crashPromises({ test }, subject, { kills: 3, seed: 1 });
});

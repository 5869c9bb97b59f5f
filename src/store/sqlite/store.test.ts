import { describe, it } from "vitest";
import { storePromises } from "../kit/index.ts";
import { sqliteHarness } from "./harness.fixture.ts";

describe("the SQLite store", () => {
  storePromises({ test: it }, sqliteHarness());
});

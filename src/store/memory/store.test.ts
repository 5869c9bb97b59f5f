import { describe, it } from "vitest";
import { storePromises } from "../kit/index.ts";
import { memoryHarness } from "./harness.fixture.ts";

describe("the memory store", () => {
  storePromises({ test: it }, memoryHarness());
});

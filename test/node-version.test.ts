import { describe, expect, it } from "vitest";
import { nodeIsTooOld, OLDEST_NODE } from "../bin/node-version.js";
import { readText } from "./house/files.ts";

describe("the oldest Node for fermata", () => {
  it.each(["v12.22.12", "20.20.2", "v20.20.2", "22.9.0", "22.13.1"])(
    "is newer than %s",
    (version) => {
      expect(nodeIsTooOld(version)).toBe(true);
    },
  );

  it.each(["22.14.0", "v22.14.1", "22.23.3", "24.1.0", "24.21.0", "v26.1.0", "100.0.0"])(
    "is not newer than %s",
    (version) => {
      expect(nodeIsTooOld(version)).toBe(false);
    },
  );

  it("is the one that package.json asks for", () => {
    expect(JSON.parse(readText("package.json")).engines.node).toBe(`>=${OLDEST_NODE}`);
  });
});

import { describe, expect, it } from "vitest";
import { importCycles } from "./house/cycles.ts";
import { textsUnder } from "./house/files.ts";
import { isTest, layerFaults } from "./house/layers.ts";
import { impurities } from "./house/purity.ts";

const sources = textsUnder("src");

describe("the source tree", () => {
  it("is read by these tests", () => {
    expect([...sources.keys()]).toContain("core/index.ts");
  });

  it("imports only downward: cli, server, session, agent | store | extension, wire, core", () => {
    expect(layerFaults(sources)).toEqual([]);
  });

  it("has no import cycles", () => {
    expect(importCycles(sources)).toEqual([]);
  });
});

describe("core", () => {
  it("only computes: no clock, no randomness, no waiting, no process, no throw", () => {
    const core = [...sources].filter(([path]) => path.startsWith("core/") && !isTest(path));
    expect(core.flatMap(([path, text]) => impurities(path, text))).toEqual([]);
  });
});

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

describe("session", () => {
  it("waits only as its world says: no timers of its own, which no simulation could see", () => {
    const timers = /\bset(?:Timeout|Interval|Immediate)\b|node:timers/;
    const own = [...sources].filter(([path, text]) => {
      return path.startsWith("session/") && !isTest(path) && timers.test(text);
    });
    // Real processes, which a simulation replaces.
    expect(own.map(([path]) => path)).toEqual(["session/side/local-shell.ts"]);
  });
});

describe("core", () => {
  it("only computes: no clock, no randomness, no waiting, no process, no throw", () => {
    const core = [...sources].filter(([path]) => path.startsWith("core/") && !isTest(path));
    expect(core.flatMap(([path, text]) => impurities(path, text))).toEqual([]);
  });
});

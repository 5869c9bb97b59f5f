import { totalmem } from "node:os";
import { describe, expect, it } from "vitest";
import { agentMemoryBytes, machineMemoryBytes } from "./agents.ts";

describe("P10: the memory of all agents together", () => {
  it("is half of what there is, where nobody has chosen", () => {
    expect(agentMemoryBytes(null, 8_000)).toBe(4_000);
  });

  it("is what was chosen, in mebibytes, and without limit at zero", () => {
    expect(agentMemoryBytes(512, 8_000)).toBe(512 * 1_024 * 1_024);
    expect(agentMemoryBytes(0, 8_000)).toBeNull();
  });

  it("is never reckoned from more than the machine has", () => {
    expect(machineMemoryBytes()).toBeGreaterThan(0);
    expect(machineMemoryBytes()).toBeLessThanOrEqual(totalmem());
  });
});

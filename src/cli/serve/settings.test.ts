import { describe, expect, it } from "vitest";
import { TURN_BYTES_MAX } from "../../core/limits.ts";
import { turnMemoryOf } from "./settings.ts";

const MIB = 1_024 * 1_024;

describe("P10: the memory of open turns", () => {
  it("is a sixth of the heap, and a quarter of that for each turn", () => {
    expect(turnMemoryOf(null, 96 * MIB)).toEqual({ allBytesMax: 16 * MIB, eachBytesMax: 4 * MIB });
  });

  it("is what was chosen, in mebibytes; no turn has more than any turn may have", () => {
    const chosen = turnMemoryOf(1_024, 96 * MIB);
    expect(chosen).toEqual({ allBytesMax: 1_024 * MIB, eachBytesMax: TURN_BYTES_MAX });
  });
});

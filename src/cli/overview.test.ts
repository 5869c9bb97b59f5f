import { describe, expect, it } from "vitest";
import { ERRORS, SESSION_STATES, VALID_TRANSITIONS } from "../core/index.ts";
import { overview } from "./overview.ts";

const lines = overview("1.2.3").split("\n");

describe("the overview", () => {
  it("begins with the name and the version", () => {
    expect(lines[0]).toBe("Fermata 1.2.3");
  });

  it("fits a terminal of 80 columns", () => {
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it("shows every state with every state it may become", () => {
    for (const state of SESSION_STATES) {
      const row = lines.find((line) => line.startsWith(`  ${state} `));
      expect(row?.split("->")[1]?.trim().split(", ")).toEqual([...VALID_TRANSITIONS[state]]);
    }
  });

  it("counts the error codes", () => {
    expect(overview("1.2.3")).toContain(`${Object.keys(ERRORS).length} error codes`);
  });

  it("says what comes next and where to read about it", () => {
    expect(overview("1.2.3")).toMatch(/Next comes the HTTP server.*docs\//);
  });
});

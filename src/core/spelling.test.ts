import { describe, expect, it } from "vitest";
import { editDistance, nearestName } from "./spelling.ts";

describe("the distance of two words", () => {
  it.each([
    ["agent", "agent", 0],
    ["agnet", "agent", 1], // two neighbours swapped
    ["budgt", "budget", 1],
    ["modes", "mode", 1],
    ["made", "mode", 1],
    ["ca", "abc", 3], // nothing is edited twice
    ["", "mode", 4],
    ["yes", "no", 3],
  ])("of %j and %j is %d", (one, other, edits) => {
    expect(editDistance(one, other)).toBe(edits);
    expect(editDistance(other, one)).toBe(edits);
  });

  it("P10: is not computed for words that are longer than any name", () => {
    const long = "a".repeat(1_000_000);
    expect(editDistance(long, `${long}b`)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("the name that a mistyped one means", () => {
  const KNOWN = ["agent", "budget", "mode", "id", "sessionId", "max-sessions", "tls-key"];

  it.each([
    ["agnet", "agent"],
    ["bugdte", "budget"],
    ["mdoe", "mode"],
    ["sessionid", "sessionId"],
    ["max_sessions", "max-sessions"],
    ["maxSesions", "max-sessions"],
    ["tlskey", "tls-key"],
  ])("%s is %s", (typed, name) => {
    expect(nearestName(typed, KNOWN)).toBe(name);
  });

  it.each(["role", "up", "worktree", "", "model", "a".repeat(1_000_000)])(
    "%.20s is none of them",
    (typed) => {
      expect(
        nearestName(
          typed,
          KNOWN.filter((name) => name !== "mode"),
        ),
      ).toBeNull();
    },
  );

  it("takes at least half of a short name to be right", () => {
    expect(nearestName("role", ["mode"])).toBeNull();
    expect(nearestName("if", ["id"])).toBeNull();
  });

  it("is the nearest, and the first of two that are as near", () => {
    expect(nearestName("tokenz", ["tenants", "tokens"])).toBe("tokens");
    expect(nearestName("seive", ["seize", "serve"])).toBe("seize");
  });
});

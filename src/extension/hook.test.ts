import { describe, expect, it } from "vitest";
import { type HookVerdict, PASS, readVerdict, strictestOf } from "./hook.ts";

describe("what a hook answers", () => {
  it.each<[unknown, HookVerdict]>([
    [null, PASS],
    [{ verdict: "pass" }, PASS],
    [
      { verdict: "deny", reason: "no", more: 1 },
      { verdict: "deny", reason: "no" },
    ],
    [
      { verdict: "ask", reason: "x".repeat(600) },
      { verdict: "ask", reason: "x".repeat(512) },
    ],
  ])("is a verdict: %j", (answer, verdict) => {
    expect(readVerdict(answer)).toEqual(verdict);
  });

  it.each([
    true,
    "deny",
    [],
    {},
    { verdict: "allow" },
    { verdict: "toString" },
    { verdict: "deny", reason: 1 },
  ])("is none, and allows nothing: %j", (answer) => {
    expect(readVerdict(answer)).toBeNull();
  });
});

describe("several verdicts", () => {
  const ask = { verdict: "ask", reason: "first" } as const;
  const deny = { verdict: "deny", reason: "first" } as const;

  it("come to the strictest, and of equal ones to the first", () => {
    expect(strictestOf([])).toEqual(PASS);
    expect(strictestOf([PASS, ask, { ...ask, reason: "second" }])).toEqual(ask);
    expect(strictestOf([ask, PASS, deny, { ...deny, reason: "second" }, ask])).toEqual(deny);
  });
});

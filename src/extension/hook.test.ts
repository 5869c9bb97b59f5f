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
    [
      { verdict: "pass", context: "Your plan: a" },
      { verdict: "pass", context: "Your plan: a" },
    ],
    [
      { verdict: "pass", context: `${"x".repeat(16_383)}\u{1f600}` },
      { verdict: "pass", context: `${"x".repeat(16_383)}\ufffd` },
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
    { verdict: "pass", context: ["plan"] },
  ])("is none, and allows nothing: %j", (answer) => {
    expect(readVerdict(answer)).toBeNull();
  });
});

describe("several verdicts", () => {
  const pass = { ...PASS, extension: "a" };
  const ask = { verdict: "ask", reason: "first", extension: "b" } as const;
  const deny = { verdict: "deny", reason: "first", extension: "c" } as const;

  it("come to the strictest, and of equal ones to the first; none, if all pass", () => {
    expect(strictestOf([])).toBeNull();
    expect(strictestOf([pass, pass])).toBeNull();
    expect(strictestOf([pass, ask, { ...ask, extension: "later" }])).toEqual(ask);
    expect(strictestOf([ask, pass, deny, { ...deny, extension: "later" }, ask])).toEqual(deny);
    expect(strictestOf([{ verdict: "deny", extension: "mute" }])).toEqual({
      verdict: "deny",
      extension: "mute",
      reason: "",
    });
  });
});

import { describe, expect, it } from "vitest";
import { ROLES } from "../permission.ts";
import {
  type BoundSettings,
  type Ceiling,
  cappedRules,
  ceilingOf,
  ceilingRefusal,
  DEFAULT_POLICY,
  isAboveCeiling,
  lowerCeiling,
  type PolicyRule,
  withAskingMode,
} from "./ceiling.ts";
import { CHILD_LIMITS } from "./child-limits.ts";
import { AUTONOMY_PROFILES, SECURITY_MODES } from "./risk.ts";

const MEMBER = ceilingOf(DEFAULT_POLICY, "member");
const OWNER = ceilingOf(DEFAULT_POLICY, "owner");

describe("without a policy", () => {
  it("binds members only, and a user without a role to what people decide", () => {
    const highest = [...ROLES, null].map((role) => {
      const { mode, autonomy, selfApproval } = ceilingOf(DEFAULT_POLICY, role);
      return [role, mode, autonomy, selfApproval];
    });
    expect(highest).toEqual([
      ["owner", "yolo", "autonomous", true],
      ["admin", "yolo", "autonomous", true],
      ["member", "allowlist", "balanced", true],
      ["viewer", "ask", "manual", false],
      [null, "ask", "manual", false],
    ]);
  });
});

describe("a ceiling", () => {
  it("allows each mode and each profile up to its own, for every pair of them", () => {
    const within = SECURITY_MODES.flatMap((highest) =>
      SECURITY_MODES.map((mode) => ceilingRefusal({ ...MEMBER, mode: highest }, { mode }) === null),
    );
    expect(within).toEqual([true, false, false, true, true, false, true, true, true]);
    for (const [at, highest] of AUTONOMY_PROFILES.entries()) {
      const allowed = AUTONOMY_PROFILES.filter((autonomy) => {
        return ceilingRefusal({ ...MEMBER, autonomy: highest }, { autonomy }) === null;
      });
      expect(allowed).toEqual(AUTONOMY_PROFILES.slice(0, at + 1));
    }
  });

  it.each<[PolicyRule, BoundSettings, string, string]>([
    ["mode", { mode: "yolo" }, "yolo", "ask, allowlist"],
    ["autonomy", { autonomy: "autonomous" }, "autonomous", "manual, supervised, balanced"],
    ["agents", { agent: "c" }, "c", "a, b"],
    ["models", { model: "huge" }, "huge", "small"],
    ["models", { model: null }, "the agent's own choice", "small"],
    ["skills", { skill: "run" }, "run", "none"],
    ["agent_mode", { agentMode: "bypass" }, "bypass", "plan"],
    ["agent_option", { agentOption: "allow_all" }, "allow_all", "options about models"],
  ])("names the rule that a request is beyond: %s", (rule, settings, wanted, allowed) => {
    const ceiling: Ceiling = { ...MEMBER, agents: ["a", "b"], models: ["small"], skills: [] };
    expect(ceilingRefusal(ceiling, settings)).toEqual({
      code: "policy_forbids",
      details: { rule, wanted, allowed, role: "member" },
    });
    expect(ceilingRefusal(OWNER, settings)).toBeNull();
  });

  it("says nothing about what a request does not name, nor about the agent's usual mode", () => {
    const ceiling: Ceiling = { ...MEMBER, agents: [], models: [], skills: [] };
    expect(ceilingRefusal(ceiling, {})).toBeNull();
    expect(ceilingRefusal(ceiling, { agentMode: null })).toBeNull();
  });

  it("lets the agent be put into the mode in which it asks", () => {
    const asking = withAskingMode(MEMBER, { mode: "careful" });
    expect(ceilingRefusal(asking, { agentMode: "careful" })).toBeNull();
    expect(withAskingMode(MEMBER, { mode: null })).toBe(MEMBER);
  });

  it.each([
    ["*", true],
    ["**", true],
    ["e*", true],
    ["*:ls", true],
    ["execute:*", true],
    ["execute: *", true],
    ["execute:l*", true],
    ["execute:*ls*", true],
    ["execute:/*", true],
    ["other:*", true],
    ["unheard-of:*", true],
    ["delete:*", true],
    ["execute:git *", false],
    ["execute:/usr/bin/git*", false],
    ["fetch:https://example.org/*", false],
    ["execute:ls", false],
    ["read:*", false],
    ["edit:*", false],
  ])("takes a pattern for one that allows whole kinds of calls, or does not: %s", (text, above) => {
    expect(isAboveCeiling(text, MEMBER)).toBe(above);
    expect(isAboveCeiling(text, OWNER)).toBe(false);
  });

  it("lets a list of edits pass only where its autonomy does", () => {
    expect(isAboveCeiling("edit:*", { ...MEMBER, autonomy: "supervised" })).toBe(true);
    expect(isAboveCeiling("read:*", { ...MEMBER, autonomy: "manual" })).toBe(true);
  });
});

describe("two ceilings", () => {
  it("together allow what both allow", () => {
    const [two, few] = [
      { ...CHILD_LIMITS, atOnce: 2 },
      { ...CHILD_LIMITS, tokens: 5 },
    ];
    const lists = { agents: ["a", "b"], skills: [] };
    const one: Ceiling = { ...OWNER, ...lists, selfApproval: false, children: two };
    const other: Ceiling = { ...MEMBER, agents: ["b", "c"], models: ["small"], children: few };
    const both = lowerCeiling(one, other);
    expect(both).toEqual({
      ...MEMBER,
      agents: ["b"],
      models: ["small"],
      skills: [],
      selfApproval: false,
      children: { ...CHILD_LIMITS, atOnce: 2, tokens: 5 },
    });
    expect(lowerCeiling(other, one)).toEqual(both);
    expect(lowerCeiling(OWNER, ceilingOf(DEFAULT_POLICY, null)).role).toBeNull();
  });
});

describe("the rules of a session under a ceiling", () => {
  const rules = {
    securityMode: "yolo",
    allowlist: ["*", "execute:git *"],
    grants: new Map([["execute:ls", "execute" as const]]),
    autonomyProfile: "autonomous",
  } as const;

  it("stay as they are below it", () => {
    expect(cappedRules(rules, OWNER)).toEqual(rules);
  });

  it("come down to it: everything is asked again, and a list loses what it may not hold", () => {
    expect(cappedRules(rules, MEMBER)).toEqual({
      ...rules,
      securityMode: "ask",
      allowlist: ["execute:git *"],
      autonomyProfile: "balanced",
    });
    const listed = cappedRules({ ...rules, securityMode: "allowlist" }, { ...MEMBER, mode: "ask" });
    expect(listed).toMatchObject({ securityMode: "allowlist", asksListed: true });
  });

  it("neither grants nor lists allow where users may not approve for themselves", () => {
    const ceiling = { ...OWNER, selfApproval: false };
    expect(cappedRules(rules, ceiling).grants.size).toBe(0);
    const listed = cappedRules({ ...rules, securityMode: "allowlist" }, ceiling);
    expect(listed).toMatchObject({ securityMode: "allowlist", asksListed: true });
  });
});

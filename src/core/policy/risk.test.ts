import { describe, expect, it } from "vitest";
import {
  APPROVAL_MODES,
  type ApprovalMode,
  type AutonomyProfile,
  approvalMeaning,
  approvalModeAllowed,
  approvalModeFor,
  covers,
  profileAllows,
  RISK_TIERS,
  type RiskTier,
  riskTier,
  type SecurityMode,
} from "./risk.ts";

describe("the risk tier of a tool call", () => {
  it("is one of four, and read < write < execute < destructive", () => {
    expect(RISK_TIERS).toEqual(["read", "write", "execute", "destructive"]);
  });

  it.each<[string, RiskTier]>([
    ["read", "read"],
    ["search", "read"],
    ["think", "read"],
    ["edit", "write"],
    ["move", "write"],
    ["execute", "execute"],
    ["fetch", "execute"],
    ["switch_mode", "execute"],
    ["other", "execute"],
    ["delete", "destructive"],
  ])("of ACP kind %s is %s", (kind, tier) => {
    expect(riskTier(kind)).toBe(tier);
  });

  it.each(["", "READ", "read ", "levitate", "constructor", "__proto__"])(
    "is execute for %j, which is no ACP kind",
    (kind) => {
      expect(riskTier(kind)).toBe("execute");
    },
  );

  it("is execute for a call that names no kind", () => {
    expect(riskTier(null)).toBe("execute");
  });
});

describe("a granted tier", () => {
  it.each<[RiskTier, RiskTier[]]>([
    ["read", ["read"]],
    ["write", ["read", "write"]],
    ["execute", ["read", "write", "execute"]],
    ["destructive", ["read", "write", "execute", "destructive"]],
  ])("%s covers %j and no more", (granted, covered) => {
    expect(RISK_TIERS.filter((needed) => covers(granted, needed))).toEqual(covered);
  });
});

describe("an autonomy profile", () => {
  it.each<[AutonomyProfile, RiskTier[]]>([
    ["manual", []],
    ["supervised", ["read"]],
    ["balanced", ["read", "write"]],
    ["autonomous", ["read", "write", "execute"]],
  ])("%s lets %j happen unasked, and what destroys is always asked", (profile, unasked) => {
    expect(RISK_TIERS.filter((needed) => profileAllows(profile, needed))).toEqual(unasked);
  });
});

describe("an approval mode", () => {
  it("is one of the wire's five words", () => {
    expect(APPROVAL_MODES).toEqual(["plan", "default", "auto-edit", "auto", "yolo"]);
  });

  it.each<[ApprovalMode, AutonomyProfile, string | null]>([
    ["plan", "manual", "plan"],
    ["default", "manual", null],
    ["auto-edit", "balanced", null],
    ["auto", "autonomous", null],
    ["yolo", "autonomous", null],
  ])("%s means profile %s and agent mode %s", (mode, autonomyProfile, agentMode) => {
    expect(approvalMeaning(mode)).toEqual({ autonomyProfile, agentMode });
  });

  // For a profile, what becomes of each of the five words, in their order.
  it.each<[AutonomyProfile, ApprovalMode[]]>([
    ["manual", ["plan", "default", "default", "default", "default"]],
    ["supervised", ["plan", "default", "default", "default", "default"]],
    ["balanced", ["plan", "auto-edit", "auto-edit", "auto-edit", "auto-edit"]],
    ["autonomous", ["plan", "auto", "auto", "auto", "yolo"]],
  ])("for profile %s is, in place of each of the five, %j", (profile, words) => {
    expect(APPROVAL_MODES.map((mode) => approvalModeFor(profile, mode))).toEqual(words);
  });

  it.each<[SecurityMode, ApprovalMode[]]>([
    ["ask", ["plan", "default", "auto-edit", "auto"]],
    ["allowlist", ["plan", "default", "auto-edit", "auto"]],
    ["yolo", ["plan", "default", "auto-edit", "auto", "yolo"]],
  ])(
    "in security mode %s may be %j: it is no way around the security mode",
    (security, allowed) => {
      expect(APPROVAL_MODES.filter((mode) => approvalModeAllowed(mode, security))).toEqual(allowed);
    },
  );
});

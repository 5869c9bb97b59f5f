import { describe, expect, it } from "vitest";
import { type AskOption, CANCELLED, selected } from "./ask.ts";
import {
  type AskFacts,
  type Gate,
  type GateRuling,
  passGates,
  refusedOutcome,
  type TierRule,
  tierRule,
  type WorkflowOpinion,
} from "./gate.ts";
import {
  AUTONOMY_PROFILES,
  type AutonomyProfile,
  RISK_TIERS,
  type RiskTier,
  type SecurityMode,
} from "./risk.ts";

const ALLOW: AskOption = { optionId: "yes", kind: "allow_once" };
const ALWAYS: AskOption = { optionId: "ever", kind: "allow_always" };
const REJECT: AskOption = { optionId: "no", kind: "reject_once" };
const NEVER: AskOption = { optionId: "never", kind: "reject_always" };
const ALL = [NEVER, ALWAYS, REJECT, ALLOW];

const people: GateRuling = { kind: "people" };
const allowedBy = (gate: Gate): GateRuling => decidedBy(gate, true);
const refusedBy = (gate: Gate): GateRuling => decidedBy(gate, false);

function decidedBy(gate: Gate, allowed: boolean): GateRuling {
  return { kind: "decided", gate, allowed, outcome: selected(allowed ? "yes" : "no") };
}

/** A command that no gate has an opinion on, unless the test says otherwise. */
const CALL: AskFacts = {
  kind: "permission",
  keys: ["execute:make"],
  tier: "execute",
  options: ALL,
  workflow: null,
  securityMode: "ask",
  allowlist: [],
  grants: new Map(),
  autonomyProfile: "manual",
};

function ruling(facts: Partial<AskFacts>): GateRuling {
  return passGates({ ...CALL, ...facts });
}

describe("an ask that no gate has an opinion on", () => {
  it("goes to people", () => {
    expect(ruling({})).toEqual(people);
  });
});

describe("a workflow", () => {
  it.each<[WorkflowOpinion, SecurityMode, GateRuling]>([
    ["approve", "ask", allowedBy("workflow")],
    ["approve", "allowlist", allowedBy("workflow")],
    ["approve", "yolo", allowedBy("workflow")],
    ["deny", "ask", refusedBy("workflow")],
    ["deny", "allowlist", refusedBy("workflow")],
    ["deny", "yolo", refusedBy("workflow")],
    ["defer", "ask", people],
    ["defer", "allowlist", people],
    ["defer", "yolo", people],
    [null, "ask", people],
    [null, "allowlist", refusedBy("security_mode")],
    [null, "yolo", allowedBy("security_mode")],
  ])("that says %s in mode %s gives %j", (workflow, securityMode, expected) => {
    expect(ruling({ workflow, securityMode })).toEqual(expected);
  });

  it("is asked before grants and the profile too", () => {
    const grants = new Map<string, RiskTier>([["execute:make", "execute"]]);
    const eager = { grants, autonomyProfile: "autonomous" } as const;
    expect(ruling({ ...eager, workflow: "deny" })).toEqual(refusedBy("workflow"));
    expect(ruling({ ...eager, workflow: "defer" })).toEqual(people);
  });
});

describe("security mode yolo", () => {
  it("allows even what destroys", () => {
    const facts = { securityMode: "yolo", tier: "destructive", keys: ["delete:/"] } as const;
    expect(ruling(facts)).toEqual(allowedBy("security_mode"));
  });
});

describe("security mode allowlist", () => {
  const listed = { securityMode: "allowlist", allowlist: ["execute:make", "edit:/src/*"] } as const;

  it("allows what a pattern allows", () => {
    expect(ruling(listed)).toEqual(allowedBy("security_mode"));
  });

  it("refuses a miss and asks nobody, whatever was granted and whatever the profile", () => {
    const keys = ["execute:rm"];
    const grants = new Map<string, RiskTier>([["execute:rm", "destructive"]]);
    const facts = { ...listed, keys, grants, autonomyProfile: "autonomous" } as const;
    expect(ruling(facts)).toEqual(refusedBy("security_mode"));
  });

  it("refuses a call of which one key is a miss", () => {
    const keys = ["edit:/src/a", "edit:/etc/passwd"];
    expect(ruling({ ...listed, keys })).toEqual(refusedBy("security_mode"));
  });

  it("refuses a call that has no keys", () => {
    expect(ruling({ ...listed, keys: [] })).toEqual(refusedBy("security_mode"));
  });
});

describe("a session grant", () => {
  const grants = new Map<string, RiskTier>([
    ["edit:/a", "write"],
    ["edit:/b", "write"],
    ["execute:make", "read"],
  ]);

  it.each<[string, string[], RiskTier, GateRuling]>([
    ["its key at its tier", ["edit:/a"], "write", allowedBy("grant")],
    ["its key at a lower tier", ["edit:/a"], "read", allowedBy("grant")],
    ["its key at a higher tier", ["execute:make"], "execute", people],
    ["several granted keys", ["edit:/a", "edit:/b"], "write", allowedBy("grant")],
    ["granted keys beside another", ["edit:/a", "edit:/c"], "write", people],
    ["a key that begins like it", ["edit:/a/b"], "write", people],
    ["no keys at all", [], "read", people],
  ])("for %s (%j, %s) gives %j", (_what, keys, tier, expected) => {
    expect(ruling({ grants, keys, tier })).toEqual(expected);
  });

  it("is a key and no pattern", () => {
    const star = new Map<string, RiskTier>([["*", "destructive"]]);
    expect(ruling({ grants: star })).toEqual(people);
  });

  it("may cover what destroys, since a person said so", () => {
    const given = new Map<string, RiskTier>([["delete:/a", "destructive"]]);
    const facts = { grants: given, keys: ["delete:/a"], tier: "destructive" } as const;
    expect(ruling(facts)).toEqual(allowedBy("grant"));
  });
});

describe("an autonomy profile", () => {
  const byProfile = allowedBy("autonomy_profile");

  it.each<[AutonomyProfile, GateRuling, GateRuling, GateRuling, GateRuling]>([
    ["manual", people, people, people, people],
    ["supervised", byProfile, people, people, people],
    ["balanced", byProfile, byProfile, people, people],
    ["autonomous", byProfile, byProfile, byProfile, people],
  ])("%s decides read, write, execute, destructive", (autonomyProfile, ...expected) => {
    const tiers = ["read", "write", "execute", "destructive"] as const;
    expect(tiers.map((tier) => ruling({ autonomyProfile, tier }))).toEqual(expected);
  });

  it("comes after the grants", () => {
    const grants = new Map<string, RiskTier>([["execute:make", "execute"]]);
    expect(ruling({ grants, autonomyProfile: "autonomous" })).toEqual(allowedBy("grant"));
  });
});

describe("an automatic allow", () => {
  const allowing: Partial<AskFacts>[] = [
    { workflow: "approve" },
    { securityMode: "yolo" },
    { securityMode: "allowlist", allowlist: ["*"] },
    { grants: new Map([["execute:make", "execute"]]) },
    { autonomyProfile: "autonomous" },
  ];

  it.each(allowing)("never takes a lasting option: without allow_once people decide (%#)", (by) => {
    expect(ruling(by).kind).toBe("decided");
    expect(ruling({ ...by, options: [ALWAYS, REJECT] })).toEqual(people);
    expect(ruling({ ...by, options: [{ optionId: "allow_once" }] })).toEqual(people);
  });

  it("takes the first allow_once option of several", () => {
    const options = [REJECT, { ...ALLOW, optionId: "1st" }, { ...ALLOW, optionId: "2nd" }];
    expect(ruling({ workflow: "approve", options })).toEqual({
      ...allowedBy("workflow"),
      outcome: selected("1st"),
    });
  });
});

describe("an automatic refusal", () => {
  it("takes a reject_once option, and never a lasting one", () => {
    expect(refusedOutcome(ALL)).toEqual(selected("no"));
    expect(refusedOutcome([ALLOW, ALWAYS, NEVER])).toEqual(CANCELLED);
  });

  it("is a cancel where the agent offers no way to refuse: it is never put to people", () => {
    const cancelled = { kind: "decided", allowed: false, outcome: { outcome: "cancelled" } };
    const options = [ALLOW];
    expect(ruling({ workflow: "deny", options })).toEqual({ ...cancelled, gate: "workflow" });
    expect(ruling({ securityMode: "allowlist", options: [] })).toEqual({
      ...cancelled,
      gate: "security_mode",
    });
  });
});

describe("an extension's guard", () => {
  const deny = { verdict: "deny", extension: "guard", reason: "no" } as const;
  const ask = { verdict: "ask", extension: "guard", reason: "look" } as const;

  it.each<Partial<AskFacts>>([
    {},
    { securityMode: "yolo" },
    { securityMode: "allowlist", allowlist: ["*"] },
    { workflow: "approve" },
    { workflow: "defer" },
    { autonomyProfile: "autonomous" },
    { grants: new Map([["execute:make", "execute"]]) },
  ])("refuses what would be let through or asked, or has people asked (%#)", (facts) => {
    expect(ruling({ ...facts, guard: deny })).toEqual(decidedBy("extension", false));
    expect(ruling({ ...facts, guard: ask })).toEqual(people);
  });

  it.each<Partial<AskFacts>>([{ workflow: "deny" }, { securityMode: "allowlist", allowlist: [] }])(
    "neither allows nor puts to people what the gates refuse (%#)",
    (facts) => {
      for (const guard of [deny, ask]) {
        expect(ruling({ ...facts, guard })).toEqual(ruling(facts));
        expect(ruling(facts)).toMatchObject({ allowed: false });
      }
    },
  );
});

describe("a question", () => {
  it.each<Partial<AskFacts>>([
    { securityMode: "yolo" },
    { securityMode: "allowlist", allowlist: [] },
    { securityMode: "allowlist", allowlist: ["*"] },
    { workflow: "approve" },
    { workflow: "deny" },
    { autonomyProfile: "autonomous", tier: "read" },
    { grants: new Map([["execute:make", "execute"]]) },
  ])("goes to people under every rule (%#)", (facts) => {
    expect(ruling({ ...facts, kind: "user_question" })).toEqual(people);
  });
});

describe("what people are told of a tier", () => {
  // Of `read`, `write`, `execute` and `destructive`, under each profile.
  it.each<[SecurityMode, AutonomyProfile, TierRule[]]>([
    ["ask", "manual", ["ask", "ask", "ask", "ask"]],
    ["ask", "supervised", ["allow", "ask", "ask", "ask"]],
    ["ask", "balanced", ["allow", "allow", "ask", "ask"]],
    ["ask", "autonomous", ["allow", "allow", "allow", "ask"]],
    ["allowlist", "manual", ["allowlist", "allowlist", "allowlist", "allowlist"]],
    ["allowlist", "autonomous", ["allowlist", "allowlist", "allowlist", "allowlist"]],
    ["yolo", "manual", ["allow", "allow", "allow", "allow"]],
    ["yolo", "autonomous", ["allow", "allow", "allow", "allow"]],
  ])("in mode %s with profile %s is %j", (mode, profile, rules) => {
    expect(RISK_TIERS.map((tier) => tierRule(mode, profile, tier))).toEqual(rules);
  });

  it("is what the gates then do", () => {
    for (const securityMode of ["ask", "yolo"] as const) {
      for (const autonomyProfile of AUTONOMY_PROFILES) {
        for (const tier of RISK_TIERS) {
          const { kind } = ruling({ securityMode, autonomyProfile, tier });
          const rule = tierRule(securityMode, autonomyProfile, tier);
          expect(kind).toBe(rule === "allow" ? "decided" : "people");
        }
      }
    }
  });
});

import { allowlisted } from "./allowlist.ts";
import {
  type AskKind,
  type AskOption,
  type AskOutcome,
  CANCELLED,
  optionOfKind,
  selected,
} from "./ask.ts";
import type { RiskTier, SecurityMode } from "./risk.ts";
import { type AutonomyProfile, covers, profileAllows } from "./risk.ts";

/** What an attached workflow says about a tool call; without one it has no opinion. */
export type WorkflowOpinion = "approve" | "deny" | "defer" | null;

/** Everything the gates look at. They look at nothing else. */
export interface AskFacts {
  readonly kind: AskKind;
  readonly keys: readonly string[];
  readonly tier: RiskTier;
  readonly options: readonly AskOption[];
  readonly workflow: WorkflowOpinion;
  readonly securityMode: SecurityMode;
  readonly allowlist: readonly string[];
  readonly grants: ReadonlyMap<string, RiskTier>;
  readonly autonomyProfile: AutonomyProfile;
}

export type Gate = "workflow" | "security_mode" | "grant" | "autonomy_profile";

/** Decided without people, and by which gate; or people are needed. */
export type GateRuling =
  | {
      readonly kind: "decided";
      readonly gate: Gate;
      readonly allowed: boolean;
      readonly outcome: AskOutcome;
    }
  | { readonly kind: "people" };

/**
 * The gates in their order (design section 8). The first that has an opinion decides. An automatic
 * allow takes an `allow_once` option and never a lasting one; where the agent offers none, people
 * are asked after all. A question is not about permission, so no gate can answer it.
 */
export function passGates(facts: AskFacts): GateRuling {
  if (facts.kind === "user_question") return { kind: "people" };
  for (const [gate, opinion] of GATES) {
    const says = opinion(facts);
    if (says === "ask") return { kind: "people" };
    if (says === "allow") return allowed(gate, facts.options);
    if (says === "refuse") return refusedBy(gate, facts.options);
  }
  return { kind: "people" };
}

type Opinion = "allow" | "refuse" | "ask" | null;

const GATES: readonly (readonly [Gate, (facts: AskFacts) => Opinion])[] = [
  ["workflow", ({ workflow }) => WORKFLOW_SAYS[workflow ?? "none"]],
  ["security_mode", (facts) => MODE_SAYS[facts.securityMode](facts)],
  ["grant", ({ grants, keys, tier }) => (granted(grants, keys, tier) ? "allow" : null)],
  [
    "autonomy_profile",
    (facts) => (profileAllows(facts.autonomyProfile, facts.tier) ? "allow" : null),
  ],
];

const WORKFLOW_SAYS: Readonly<Record<"approve" | "deny" | "defer" | "none", Opinion>> = {
  approve: "allow",
  deny: "refuse",
  defer: "ask",
  none: null,
};

const MODE_SAYS: Readonly<Record<SecurityMode, (facts: AskFacts) => Opinion>> = {
  ask: () => null,
  allowlist: ({ keys, allowlist }) => (allowlisted(keys, allowlist) ? "allow" : "refuse"),
  yolo: () => "allow",
};

function granted(grants: AskFacts["grants"], keys: readonly string[], tier: RiskTier): boolean {
  const covered = (key: string) => {
    const grant = grants.get(key);
    return grant !== undefined && covers(grant, tier);
  };
  return keys.length > 0 && keys.every(covered);
}

function allowed(gate: Gate, options: readonly AskOption[]): GateRuling {
  const option = optionOfKind(options, "allow_once");
  if (option === null) return { kind: "people" };
  return { kind: "decided", gate, allowed: true, outcome: selected(option.optionId) };
}

function refusedBy(gate: Gate, options: readonly AskOption[]): GateRuling {
  return { kind: "decided", gate, allowed: false, outcome: refusedOutcome(options) };
}

/** What becomes of a call of this tier that nobody has granted and no workflow speaks of. */
export type TierRule = "allow" | "ask" | "allowlist";

/** For people to read before it matters; `passGates` decides when it does. */
export function tierRule(mode: SecurityMode, profile: AutonomyProfile, tier: RiskTier): TierRule {
  if (mode === "allowlist") return "allowlist";
  return mode === "yolo" || profileAllows(profile, tier) ? "allow" : "ask";
}

/** A refusal must reach the agent even if it offers no way to refuse: then it is cancelled. */
export function refusedOutcome(options: readonly AskOption[]): AskOutcome {
  const option = optionOfKind(options, "reject_once");
  return option === null ? CANCELLED : selected(option.optionId);
}

import { APPROVAL_KEY_CHARS_MAX } from "../limits.ts";
import { isExactKey } from "./approval-key.ts";
import {
  type AskKind,
  type AskOption,
  type AskOutcome,
  CANCELLED,
  optionOfKind,
  selected,
} from "./ask.ts";
import {
  type AutonomyProfile,
  covers,
  profileAllows,
  type RiskTier,
  type SecurityMode,
} from "./risk.ts";

/** What an attached workflow says about a tool call; without one it has no opinion. */
export type WorkflowOpinion = "approve" | "deny" | "defer" | null;

/** What an extension of the session wants of a call. It makes one harder, and never easier. */
export interface GuardOpinion {
  readonly verdict: "deny" | "ask";
  readonly extension: string;
  /** For people, and for the agent that is refused. */
  readonly reason: string;
}

/** Everything the gates look at. They look at nothing else. */
export interface AskFacts {
  readonly kind: AskKind;
  readonly keys: readonly string[];
  readonly tier: RiskTier;
  readonly options: readonly AskOption[];
  readonly workflow: WorkflowOpinion;
  readonly securityMode: SecurityMode;
  readonly allowlist: readonly string[];
  /** What is on the allowlist is asked, because a policy is below that mode. */
  readonly asksListed?: boolean;
  readonly grants: ReadonlyMap<string, RiskTier>;
  readonly autonomyProfile: AutonomyProfile;
  readonly guard?: GuardOpinion;
  /** A child session that was begun to read, and to change nothing. */
  readonly readOnly?: boolean;
}

/** `workspace` is the place of a call: what the server would refuse there is not asked for. */
export type Gate =
  | "workspace"
  | "read_only"
  | "workflow"
  | "security_mode"
  | "grant"
  | "autonomy_profile"
  | "extension";

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
 * The gates in their order. The first that has an opinion decides. An automatic
 * allow takes an `allow_once` option and never a lasting one; where the agent offers none, people
 * are asked after all. An extension's guard comes last, and only takes back what the gates would
 * let through. A question is not about permission, so no gate can answer it.
 */
export function passGates(facts: AskFacts): GateRuling {
  if (facts.kind === "user_question") return { kind: "people" };
  const ruling = firstRuling(facts);
  const { guard, options } = facts;
  if (guard === undefined || (ruling.kind === "decided" && !ruling.allowed)) return ruling;
  return guard.verdict === "deny" ? refusedBy("extension", options) : { kind: "people" };
}

function firstRuling(facts: AskFacts): GateRuling {
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
  ["read_only", ({ readOnly, tier }) => (readOnly && tier !== "read" ? "refuse" : null)],
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
  allowlist: ({ keys, allowlist, asksListed = false }) => {
    if (!allowlisted(keys, allowlist)) return "refuse";
    return asksListed ? null : "allow";
  },
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

/** A call that writes where the server lets no agent write. */
export function refusedOutside(options: readonly AskOption[]): GateRuling {
  return refusedBy("workspace", options);
}

/** What becomes of a call of this tier without a grant and without a workflow's opinion. */
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

export function allowlisted(keys: readonly string[], patterns: readonly string[]): boolean {
  if (keys.length === 0) return patterns.includes("*");
  return keys.every((key) => patterns.some((one) => matches(one, key)));
}

/** Whether it can be granted or matched at all: what is longer, people look at each time. */
export function isGrantable(key: string): boolean {
  return key.length <= APPROVAL_KEY_CHARS_MAX;
}

/**
 * A pattern is a key in which `*` stands for anything; the lone `*` allows everything. Elsewhere
 * `*` must not smuggle: `execute:git *` does not allow `git log; rm -rf .`, and `edit:/src/*`
 * does not allow `/src/../secret`. A key that holds a whole call is compared as it is.
 */
export function matches(pattern: string, key: string): boolean {
  if (pattern === "*") return true;
  if (!isGrantable(key)) return false;
  if (pattern === key) return true;
  return !isExactKey(key) && isPlain(key) && matchesGlob(pattern, key);
}

/** Control characters, line separators, and surrogates that no encoding can carry. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/** What is not known to be something else is taken for a command line. */
const NOT_A_COMMAND = /^(?:read|edit|delete|move|search|think|fetch|switch_mode):/;
const SHELL_OPERATOR = /[;&|<>$`(){}\\]/;

/** `..` as a segment of its own, also as it is written in addresses. */
const CLIMB = /(?:^|[\\/]|%2f|%5c)(?:\.|%2e){2}(?:$|[\\/?#]|%2f|%5c)/i;

/** `..` after a slash, or a wildcard that a shell may read as one. `./...` is no climb. */
const CLIMB_IN_COMMAND = /\/\.(?:\.(?![^\s/])|[?*[])/;

function isPlain(key: string): boolean {
  if (UNPRINTABLE.test(key)) return false;
  const subject = key.slice(key.indexOf(":") + 1);
  if (NOT_A_COMMAND.test(key)) return !CLIMB.test(subject);
  const unquoted = subject.replaceAll(/["']/g, "");
  return !SHELL_OPERATOR.test(subject) && !CLIMB_IN_COMMAND.test(unquoted);
}

/** Two pointers and one place to go back to: at worst the product of the lengths. */
function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  let star = -1;
  let afterStar = 0;
  while (at < text.length) {
    if (pattern[inPattern] === "*") {
      star = inPattern++;
      afterStar = at;
    } else if (pattern[inPattern] === text[at]) {
      inPattern += 1;
      at += 1;
    } else if (star >= 0) {
      inPattern = star + 1;
      at = ++afterStar;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === "*") inPattern += 1;
  return inPattern === pattern.length;
}

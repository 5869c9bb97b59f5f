import { type Refusal, refusal } from "../error.ts";
import { lesserRole, type Role } from "../permission.ts";
import type { Visibility } from "../session/visibility.ts";
import { keyKind } from "./approval-key.ts";
import type { AgentAsking } from "./asking.ts";
import { CHILD_LIMITS, type ChildLimits, lowerChildLimits, NO_CHILDREN } from "./child-limits.ts";
import type { AskFacts } from "./gate.ts";
import {
  AUTONOMY_PROFILES,
  type AutonomyProfile,
  lesserAutonomy,
  profileAllows,
  type RiskTier,
  riskTier,
  SECURITY_MODES,
  type SecurityMode,
} from "./risk.ts";

/** Roles that can be bound: a viewer starts nothing that a policy could bind. */
export const BOUND_ROLES = ["owner", "admin", "member"] as const satisfies readonly Role[];

type BoundRole = (typeof BOUND_ROLES)[number];

/** Names that are allowed; `any` is all that there are. */
export type AllowedNames = "any" | readonly string[];

/** The ceiling of one role. Modes and profiles include all that are more careful. */
export interface RolePolicy {
  readonly mode: SecurityMode;
  readonly autonomy: AutonomyProfile;
  readonly agents: AllowedNames;
  readonly models: AllowedNames;
  readonly skills: AllowedNames;
  /** Whether a user may approve what the user's own prompt asks for. */
  readonly selfApproval: boolean;
  readonly children: ChildLimits;
}

/** What the owners of a tenant allow its users. */
export interface TenantPolicy {
  readonly roles: Readonly<Record<BoundRole, RolePolicy>>;
  /** Who sees a new session whose request does not say so. */
  readonly visibility: Visibility;
}

const UNBOUND: RolePolicy = {
  mode: "yolo",
  autonomy: "autonomous",
  agents: "any",
  models: "any",
  skills: "any",
  selfApproval: true,
  children: CHILD_LIMITS,
};

/** Without a policy of its owners a tenant binds its members only. */
export const DEFAULT_POLICY: TenantPolicy = {
  roles: {
    owner: UNBOUND,
    admin: UNBOUND,
    member: { ...UNBOUND, mode: "allowlist", autonomy: "balanced" },
  },
  visibility: "private",
};

/** What binds one user, or all users whose words are in a turn. */
export interface Ceiling extends RolePolicy {
  /** The lowest of their roles; null if one of them has none any more. */
  readonly role: Role | null;
  /** Modes of the agent's own that may be chosen; in others the agent may not ask. */
  readonly agentModes: AllowedNames;
}

/** What of a policy a request was beyond. */
export type PolicyRule =
  | "mode"
  | "allowlist"
  | "autonomy"
  | "agent_mode"
  | "agent_option"
  | "agents"
  | "models"
  | "skills"
  | "children";

/** A user without a role begins no turn; in one that runs, other people decide everything. */
const NO_ROLE: RolePolicy = {
  mode: "ask",
  autonomy: "manual",
  agents: [],
  models: [],
  skills: [],
  selfApproval: false,
  children: NO_CHILDREN,
};

export function ceilingOf({ roles }: TenantPolicy, role: Role | null): Ceiling {
  const policy = role === null || role === "viewer" ? NO_ROLE : roles[role];
  return { ...policy, role, agentModes: policy.mode === "yolo" ? "any" : ["plan"] };
}

/** The same for a turn that should not run as it does: people decide everything. */
export function askingCeiling(ceiling: Ceiling): Ceiling {
  return { ...ceiling, mode: NO_ROLE.mode, autonomy: NO_ROLE.autonomy };
}

/** The ceiling with the mode in which this agent is known to ask. */
export function withAskingMode(ceiling: Ceiling, { mode }: Pick<AgentAsking, "mode">): Ceiling {
  const { agentModes } = ceiling;
  if (agentModes === "any" || mode === null || agentModes.includes(mode)) return ceiling;
  return { ...ceiling, agentModes: [...agentModes, mode] };
}

/** What both allow: several users may have spoken in one turn. */
export function lowerCeiling(one: Ceiling, other: Ceiling): Ceiling {
  return {
    role: one.role === null || other.role === null ? null : lesserRole(one.role, other.role),
    mode: lower(SECURITY_MODES, one.mode, other.mode),
    autonomy: lesserAutonomy(one.autonomy, other.autonomy),
    agents: inBoth(one.agents, other.agents),
    models: inBoth(one.models, other.models),
    skills: inBoth(one.skills, other.skills),
    agentModes: inBoth(one.agentModes, other.agentModes),
    selfApproval: one.selfApproval && other.selfApproval,
    children: lowerChildLimits(one.children, other.children),
  };
}

function inBoth(one: AllowedNames, other: AllowedNames): AllowedNames {
  if (one === "any" || other === "any") return one === "any" ? other : one;
  return one.filter((name) => other.includes(name));
}

/** Both lists begin with the most careful word. */
function lower<Word>(order: readonly Word[], one: Word, other: Word): Word {
  return order.indexOf(one) < order.indexOf(other) ? one : other;
}

function isWithin<Word>(order: readonly Word[], word: Word, highest: Word): boolean {
  return order.indexOf(word) <= order.indexOf(highest);
}

/** The more careful of a profile and the ceiling's. */
export function lowerAutonomy(profile: AutonomyProfile, ceiling: Ceiling): AutonomyProfile {
  return lesserAutonomy(profile, ceiling.autonomy);
}

/** What of a session a ceiling looks at, as far as a request says it. */
export interface BoundSettings {
  readonly mode?: SecurityMode;
  readonly allowlist?: readonly string[];
  readonly autonomy?: AutonomyProfile;
  readonly agentMode?: string | null;
  /** An option of the agent's own that may decide whether it asks. */
  readonly agentOption?: string | null;
  readonly agent?: string;
  /** Null is the agent's own choice, which no list of models can name. */
  readonly model?: string | null;
  readonly skill?: string;
  /** Whether it is to have another agent work for it. */
  readonly delegates?: boolean;
}

/** The first rule that a request is beyond, as a refusal that names it; null if it is within. */
export function ceilingRefusal(ceiling: Ceiling, settings: BoundSettings): Refusal | null {
  for (const { rule, forbidden } of RULES) {
    const found = forbidden(ceiling, settings);
    if (found !== null) return refusalBy(ceiling, rule, found);
  }
  return null;
}

function refusalBy({ role }: Ceiling, rule: PolicyRule, { wanted, allowed }: Forbidden): Refusal {
  const names = allowed.length === 0 ? "none" : allowed.join(", ");
  return refusal("policy_forbids", { rule, wanted, allowed: names, role: role ?? "none" });
}

interface Forbidden {
  readonly wanted: string;
  readonly allowed: readonly string[];
}

interface RuleCheck {
  readonly rule: PolicyRule;
  forbidden(ceiling: Ceiling, settings: BoundSettings): Forbidden | null;
}

const RULES: readonly RuleCheck[] = [
  {
    rule: "mode",
    forbidden: (ceiling, { mode }) => above(SECURITY_MODES, mode, ceiling.mode),
  },
  {
    rule: "allowlist",
    forbidden(ceiling, { allowlist = [] }) {
      const wanted = allowlist.find((pattern) => isAboveCeiling(pattern, ceiling));
      const allowed = ["patterns that name a program, folder or host before their first *"];
      return wanted === undefined ? null : { wanted, allowed };
    },
  },
  {
    rule: "autonomy",
    forbidden: (ceiling, { autonomy }) => above(AUTONOMY_PROFILES, autonomy, ceiling.autonomy),
  },
  {
    rule: "agent_mode",
    forbidden: (ceiling, { agentMode }) => unnamed(ceiling.agentModes, agentMode ?? undefined),
  },
  {
    rule: "agent_option",
    forbidden: ({ agentModes }, { agentOption = null }) => {
      const isFree = agentModes === "any" || agentOption === null;
      return isFree ? null : { wanted: agentOption, allowed: ["options about models"] };
    },
  },
  { rule: "agents", forbidden: (ceiling, { agent }) => unnamed(ceiling.agents, agent) },
  {
    rule: "models",
    forbidden: (ceiling, { model }) => {
      return unnamed(ceiling.models, model === null ? AGENTS_CHOICE : model);
    },
  },
  { rule: "skills", forbidden: (ceiling, { skill }) => unnamed(ceiling.skills, skill) },
  {
    rule: "children",
    forbidden: ({ children }, { delegates = false }) => {
      return delegates && children.atOnce === 0 ? { wanted: "a child session", allowed: [] } : null;
    },
  },
];

const AGENTS_CHOICE = "the agent's own choice";

function above<Word extends string>(
  order: readonly Word[],
  word: Word | undefined,
  highest: Word,
): Forbidden | null {
  if (word === undefined || isWithin(order, word, highest)) return null;
  return { wanted: word, allowed: order.slice(0, order.indexOf(highest) + 1) };
}

function unnamed(allowed: AllowedNames, name: string | undefined): Forbidden | null {
  if (name === undefined || allowed === "any" || allowed.includes(name)) return null;
  return { wanted: name, allowed };
}

/**
 * Whether a pattern allows whole kinds of calls above the ceiling: `*` is mode `yolo` by another
 * name, and `execute:*` is the profile `autonomous`. One that names something allows that only.
 */
export function isAboveCeiling(pattern: string, { mode, autonomy }: Ceiling): boolean {
  if (mode === "yolo") return false;
  const star = pattern.indexOf("*");
  if (star < 0) return false;
  const colon = pattern.indexOf(":");
  if (colon < 0 || star < colon) return true;
  const isNamed = WHOLE_WORD.test(pattern.slice(colon + 1, star));
  return !isNamed && !profileAllows(autonomy, riskTier(keyKind(pattern)));
}

/** A program, a folder or a host, and not only how it begins. */
const WHOLE_WORD = /[^\s/][\s/]/;

/** What the gates decide by; see `AskFacts`. */
export type GateRules = Pick<
  AskFacts,
  "securityMode" | "allowlist" | "grants" | "autonomyProfile" | "asksListed" | "readOnly"
>;

/** Whether users of this ceiling may set a session so that calls of this tier are not asked. */
export function isUnasked({ mode, autonomy, selfApproval }: Ceiling, tier: RiskTier): boolean {
  return selfApproval && (mode === "yolo" || profileAllows(autonomy, tier));
}

/**
 * The rules of a session under the ceiling of the turn's users. The session's own fields stay as
 * they are (P7). `yolo` comes down to `ask`; of an allowlist above the ceiling the misses are still
 * refused, and the hits are asked. Where users may not approve for themselves, neither an allowlist
 * nor a grant allows anything: one of them may have made it.
 */
export function cappedRules<Rules extends GateRules>(rules: Rules, ceiling: Ceiling): Rules {
  const { securityMode, allowlist, grants, autonomyProfile } = rules;
  const isYolo = securityMode === "yolo" && ceiling.mode !== "yolo";
  const isAsked = ceiling.mode === "ask" || !ceiling.selfApproval;
  const isListed = securityMode === "allowlist" && isAsked;
  return {
    ...rules,
    securityMode: isYolo ? "ask" : securityMode,
    ...(isListed && { asksListed: true }),
    allowlist: allowlist.filter((pattern) => !isAboveCeiling(pattern, ceiling)),
    grants: ceiling.selfApproval ? grants : NO_GRANTS,
    autonomyProfile: lowerAutonomy(autonomyProfile, ceiling),
  };
}

const NO_GRANTS: AskFacts["grants"] = new Map();

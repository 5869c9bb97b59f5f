/** How much harm a tool call can do, least first. */
export type RiskTier = (typeof RISK_TIERS)[number];

export const RISK_TIERS = ["read", "write", "execute", "destructive"] as const;

/**
 * The tier of each ACP tool kind. What reaches outside the workspace or changes the rules of the
 * session counts as `execute`, and so does an unknown kind.
 */
const TIER_OF_KIND: ReadonlyMap<string, RiskTier> = new Map([
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
]);

export function riskTier(toolKind: string | null): RiskTier {
  return (toolKind === null ? undefined : TIER_OF_KIND.get(toolKind)) ?? "execute";
}

/** Whether it is a kind that the protocol knows, and no agent's own word. */
export function isToolKind(kind: string): boolean {
  return TIER_OF_KIND.has(kind);
}

export function covers(granted: RiskTier, needed: RiskTier): boolean {
  return RISK_TIERS.indexOf(granted) >= RISK_TIERS.indexOf(needed);
}

/** The highest tier that happens without asking; `destructive` always asks. */
export type AutonomyProfile = (typeof AUTONOMY_PROFILES)[number];

export const AUTONOMY_PROFILES = ["manual", "supervised", "balanced", "autonomous"] as const;

const REACH: Readonly<Record<AutonomyProfile, RiskTier | null>> = {
  manual: null,
  supervised: "read",
  balanced: "write",
  autonomous: "execute",
};

export function profileAllows(profile: AutonomyProfile, needed: RiskTier): boolean {
  const reach = REACH[profile];
  return reach !== null && covers(reach, needed);
}

/** The more careful of two profiles. */
export function lesserAutonomy(one: AutonomyProfile, other: AutonomyProfile): AutonomyProfile {
  return AUTONOMY_PROFILES.indexOf(one) < AUTONOMY_PROFILES.indexOf(other) ? one : other;
}

/** Fixed when the session is created; there is no command that changes it. */
export type SecurityMode = "ask" | "allowlist" | "yolo";

/** All of them, the most careful first. */
export const SECURITY_MODES: readonly SecurityMode[] = ["ask", "allowlist", "yolo"];

/** The wire's five words for how much may happen unasked. */
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

export const APPROVAL_MODES = ["plan", "default", "auto-edit", "auto", "yolo"] as const;

interface ApprovalMeaning {
  readonly autonomyProfile: AutonomyProfile;
  /** The agent's own mode that goes with it; null leaves the agent in its default. */
  readonly agentMode: string | null;
}

const MEANINGS: Readonly<Record<ApprovalMode, ApprovalMeaning>> = {
  plan: { autonomyProfile: "manual", agentMode: "plan" },
  default: { autonomyProfile: "manual", agentMode: null },
  "auto-edit": { autonomyProfile: "balanced", agentMode: null },
  auto: { autonomyProfile: "autonomous", agentMode: null },
  yolo: { autonomyProfile: "autonomous", agentMode: null },
};

export function approvalMeaning(mode: ApprovalMode): ApprovalMeaning {
  return MEANINGS[mode];
}

/** Whether an agent's id is this mode: some give their ids as an address that ends in the word. */
export function isMode(id: string | null, mode: string | null): boolean {
  return id !== null && mode !== null && (id === mode || id.endsWith(`#${mode}`));
}

/** Whether a word of the wire puts agents into this mode of theirs. */
export function hasWord(agentMode: string): boolean {
  return APPROVAL_MODES.some((mode) => MEANINGS[mode].agentMode === agentMode);
}

/**
 * The wire's word for a profile. The present word stays if it means just this, or if it says what
 * mode the agent is in, which a profile does not touch. Else it is the word that comes nearest and
 * promises no more than is so: there is none for `supervised`, which goes by `default`.
 */
export function approvalModeFor(profile: AutonomyProfile, present: ApprovalMode): ApprovalMode {
  const { autonomyProfile, agentMode } = MEANINGS[present];
  if (autonomyProfile === profile || agentMode !== null) return present;
  return PLAIN_MODES.findLast((mode) => isWithin(MEANINGS[mode], profile)) ?? "default";
}

/** Those that say how much may happen unasked and nothing else, the most careful first. */
const PLAIN_MODES = ["default", "auto-edit", "auto"] as const;

function isWithin({ autonomyProfile }: ApprovalMeaning, profile: AutonomyProfile): boolean {
  return RISK_TIERS.every((tier) => {
    return !profileAllows(autonomyProfile, tier) || profileAllows(profile, tier);
  });
}

/** `yolo` is not a way around the mode the session was created with. */
export function approvalModeAllowed(mode: ApprovalMode, security: SecurityMode): boolean {
  return mode !== "yolo" || security === "yolo";
}

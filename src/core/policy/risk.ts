/** How much harm a tool call can do, least first. */
export type RiskTier = (typeof RISK_TIERS)[number];

export const RISK_TIERS = ["read", "write", "execute", "destructive"] as const;

/**
 * The tier of each ACP tool kind. What reaches outside the workspace or changes the rules of the
 * session counts as `execute`, and so does a kind that nobody has heard of.
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

export function covers(granted: RiskTier, needed: RiskTier): boolean {
  return RISK_TIERS.indexOf(granted) >= RISK_TIERS.indexOf(needed);
}

/** The highest tier that happens without asking; `destructive` always asks. */
export type AutonomyProfile = "manual" | "supervised" | "balanced" | "autonomous";

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

/** Fixed when the session is created; there is no command that changes it. */
export type SecurityMode = "ask" | "allowlist" | "yolo";

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

/** `yolo` is not a way around the mode the session was created with. */
export function approvalModeAllowed(mode: ApprovalMode, security: SecurityMode): boolean {
  return mode !== "yolo" || security === "yolo";
}

import type { AskId, ClientId, UserId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { Role } from "../permission.ts";
import type { Access, AccessRule } from "../policy/access.ts";
import type { AskKind, AskOption, AskOutcome, ForbiddenReason, Mediation } from "../policy/ask.ts";
import type { Gate, GuardOpinion } from "../policy/gate.ts";
import type { AutonomyProfile, RiskTier, SecurityMode } from "../policy/risk.ts";
import type { AskEnd } from "./reason.ts";

/** What can have happened to an ask, and to what is granted for good. */
export interface AskEvents {
  permission_request: AskMade;
  permission_decided: AskDecided;
  permission_resolved: AskResolved;
  permission_already_resolved: { requestId: AskId; outcome: AskOutcome };
  permission_partial_vote: PartialVote;
  permission_voter_left: VoterLeft;
  permission_forbidden: VoteForbidden;
  agent_access: AccessDecided;
  session_grant_added: GrantAdded;
  session_grant_revoked: { key: string; reason?: "rules_changed" };
}

/** By which rules an ask was judged, where the policy is more careful than the session. */
export interface CappedBy {
  /** The lowest role in the turn; null if one of its users has none any more. */
  readonly role: Role | null;
  readonly securityMode: SecurityMode;
  readonly autonomyProfile: AutonomyProfile;
}

interface AskMade {
  capped?: CappedBy;
  guard?: GuardOpinion;
  requestId: AskId;
  kind: AskKind;
  toolCall: JsonObject;
  options: readonly AskOption[];
  keys: readonly string[];
  /** What it covers beside its keys; absent if nothing. */
  covers?: readonly string[];
  tier: RiskTier;
  access?: Access;
  mediation: Mediation;
  askedAtMs: number;
  deadlineAtMs?: number;
}

interface AskDecided {
  capped?: CappedBy;
  guard?: GuardOpinion;
  requestId: AskId;
  toolCall: JsonObject;
  /** Absent in logs that did not tell. */
  keys?: readonly string[];
  covers?: readonly string[];
  tier: RiskTier;
  gate: Gate;
  /** What the outcome comes to: an option's name need not tell. */
  allowed: boolean;
  outcome: AskOutcome;
}

/** The agent had the server run a command, write a file or read one; or the server did not. */
interface AccessDecided {
  capped?: CappedBy;
  guard?: GuardOpinion;
  requestId: AskId;
  access: Access;
  tier: RiskTier;
  allowed: boolean;
  by: AccessRule;
  /** The ask whose answer covers it, or forbids it. */
  answeredBy?: AskId;
}

interface GrantAdded {
  key: string;
  tier: RiskTier;
  requestId?: AskId;
  /** By which rules the key was made; older ones covered more than their key, and are void. */
  rules?: typeof GRANT_RULES;
}

/** Keys are exact: never a title alone. */
export const GRANT_RULES = 2;

interface AskResolved {
  requestId: AskId;
  outcome: AskOutcome;
  reason: AskEnd;
  voterClientId?: ClientId;
  voterUserId?: UserId;
  answers?: Readonly<Record<string, string>>;
  /** Only if "always" was chosen and is not kept, so that the next such call is asked again. */
  granted?: false;
}

interface PartialVote {
  requestId: AskId;
  /** As the ask knows them, and behind that who it was. */
  voter: string;
  voterClientId?: ClientId;
  voterUserId?: UserId;
  optionId: string;
  votesReceived: number;
  votesNeeded: number;
  quorum: number;
  optionTallies: Readonly<Record<string, number>>;
  /** There if the voters cannot agree any more: the tenant's owners decide. */
  owners?: true;
}

/** What an ask comes to without voters who were counted when it was made and are gone since. */
interface VoterLeft {
  requestId: AskId;
  left: readonly string[];
  votesReceived: number;
  /** None is needed any more if those who stay have agreed already. */
  votesNeeded: number;
  quorum: number;
  optionTallies: Readonly<Record<string, number>>;
  /** There if those who stay cannot decide it: the tenant's owners do. */
  owners?: true;
}

/** Names the voter, because the envelope names the client that sent the prompt. */
interface VoteForbidden {
  requestId: AskId;
  clientId?: ClientId;
  userId?: UserId;
  reason: ForbiddenReason;
}

import type { AskId, ClientId, UserId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { AskKind, AskOption, AskOutcome } from "../policy/ask.ts";
import type { Gate } from "../policy/gate.ts";
import type { ForbiddenReason, Mediation } from "../policy/mediation.ts";
import type { RiskTier } from "../policy/risk.ts";
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
  session_grant_added: { key: string; tier: RiskTier; requestId?: AskId };
  session_grant_revoked: { key: string };
}

interface AskMade {
  requestId: AskId;
  kind: AskKind;
  toolCall: JsonObject;
  options: readonly AskOption[];
  keys: readonly string[];
  tier: RiskTier;
  mediation: Mediation;
  askedAtMs: number;
  deadlineAtMs?: number;
}

interface AskDecided {
  requestId: AskId;
  toolCall: JsonObject;
  tier: RiskTier;
  gate: Gate;
  /** What the outcome comes to: an option's name need not tell. */
  allowed: boolean;
  outcome: AskOutcome;
}

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
}

/** The voter is told here, because its envelope has whoever sent the prompt (wire, 9.2). */
interface VoteForbidden {
  requestId: AskId;
  clientId?: ClientId;
  userId?: UserId;
  reason: ForbiddenReason;
}

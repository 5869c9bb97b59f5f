import type { AskId, ChildId, ClientId, UserId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import type { Access } from "./access.ts";
import type { RiskTier } from "./risk.ts";

/** An open permission or question of the agent, as long as people have to answer it. */
export interface Ask {
  readonly requestId: AskId;
  readonly kind: AskKind;
  readonly toolCall: JsonObject;
  readonly options: readonly AskOption[];
  readonly keys: readonly string[];
  /** Keys of what the agent may do for it beside them; a grant does not include them. */
  readonly covers?: readonly string[];
  readonly tier: RiskTier;
  /** There if the agent did not ask: it wants this done, and the server asks instead. */
  readonly access?: Access;
  readonly mediation: Mediation;
  /** Ballots by voter, one each; only consensus needs more than the first. */
  readonly votes: ReadonlyMap<string, string>;
  readonly askedAtMs: number;
  readonly deadlineAtMs: number | null;
  /** The child session that asks; absent if it is the session's own agent. */
  readonly childId?: ChildId;
}

export type AskKind = "permission" | "user_question";

/** An option as the agent offered it; further fields pass through. */
export interface AskOption extends JsonObject {
  readonly optionId: string;
}

/** Means "cancelled" on the wire; an agent that offers it as an option breaks the contract. */
export const CANCEL_SENTINEL = "__cancelled__";

export type AskOutcome =
  | { readonly outcome: "selected"; readonly optionId: string }
  | { readonly outcome: "cancelled" };

export const CANCELLED: AskOutcome = { outcome: "cancelled" };

export function selected(optionId: string): AskOutcome {
  return { outcome: "selected", optionId };
}

/** The first option of this ACP kind (`allow_once`, `reject_once`, …), if one is offered. */
export function optionOfKind(options: readonly AskOption[], kind: string): AskOption | null {
  return options.find((option) => option.kind === kind) ?? null;
}

/** Who decides an ask. Chosen when the server starts; written into every ask it applies to. */
export type MediationPolicy = (typeof MEDIATION_POLICIES)[number];

export const MEDIATION_POLICIES = [
  "first-responder",
  "designated",
  "consensus",
  "local-only",
] as const;

/** The rules of one ask, fixed when it is made: who may vote, and how many must agree. */
export interface Mediation {
  readonly policy: MediationPolicy;
  /** The voter whose prompt is running; null if that prompt was anonymous. */
  readonly designated: string | null;
  /** Those registered and present when the ask was made. Who comes later has no vote. */
  readonly voters: readonly string[];
  readonly quorum: number;
  /** None of its own voters can decide it, so the tenant's owners do. */
  readonly owners?: true;
}

/**
 * The name of a voter: a user where tokens are in use, so that ten tabs are one voter. The word
 * before the name keeps a client that calls itself like a user from voting in that name.
 */
export function voterOf(clientId: ClientId | null, userId: UserId | null): string | null {
  if (userId !== null) return `user ${userId}`;
  return clientId === null ? null : `client ${clientId}`;
}

export function openMediation(
  policy: MediationPolicy,
  configuredQuorum: number | null,
  voters: readonly string[],
  designated: string | null,
): Mediation {
  const distinct = [...new Set(voters)];
  return { policy, designated, voters: distinct, quorum: quorumOf(configuredQuorum, distinct) };
}

/** A majority unless configured; never more than there are voters, never less than one. */
function quorumOf(configured: number | null, voters: readonly string[]): number {
  const all = Math.max(1, voters.length);
  const usable = configured !== null && Number.isSafeInteger(configured);
  const wanted = usable ? configured : Math.floor(voters.length / 2) + 1;
  return Math.min(all, Math.max(1, wanted));
}

export interface Ballot {
  /** The names that the voter goes by, the present one first; none for an anonymous vote. */
  readonly names: readonly string[];
  readonly loopback: boolean;
  readonly optionId: string;
  /** Whether the voter is an owner of the tenant. */
  readonly isOwner?: boolean;
}

export type ForbiddenReason = "designated_mismatch" | "remote_not_allowed" | "self_approval";

export type Count =
  | { readonly kind: "resolved" }
  | { readonly kind: "repeated" }
  | { readonly kind: "forbidden"; readonly reason: ForbiddenReason }
  | ({ readonly kind: "recorded" } & Progress);

interface Progress {
  /** The name that it was counted under: one of those that the ask was put to. */
  readonly voter: string;
  readonly tallies: Readonly<Record<string, number>>;
  readonly votesReceived: number;
  readonly votesNeeded: number;
  /** The voters cannot agree any more, so the tenant's owners decide. */
  readonly owners: boolean;
}

/** Counts one ballot for an offered option, by the ask's own policy. */
export function countBallot(ask: Ask, ballot: Ballot): Count {
  if (ask.mediation.owners && ballot.isOwner) return { kind: "resolved" };
  return COUNTS[ask.mediation.policy](ask, ballot);
}

const COUNTS: Readonly<Record<MediationPolicy, (ask: Ask, ballot: Ballot) => Count>> = {
  "first-responder": () => ({ kind: "resolved" }),
  "local-only": (_, { loopback }) => (loopback ? { kind: "resolved" } : notLocal),
  designated: ({ mediation: { designated } }, { names }) =>
    designated === null || names.includes(designated) ? { kind: "resolved" } : mismatch,
  consensus: countTowardsConsensus,
};

const mismatch: Count = { kind: "forbidden", reason: "designated_mismatch" };
const notLocal: Count = { kind: "forbidden", reason: "remote_not_allowed" };

/** A vote under any of a voter's names counts as that voter's vote. */
function countTowardsConsensus({ mediation, votes }: Ask, { names, optionId }: Ballot): Count {
  const voter = names.find((name) => mediation.voters.includes(name));
  if (voter === undefined) return mismatch;
  if (names.some((name) => votes.has(name))) return { kind: "repeated" };
  const counted = new Map(votes).set(voter, optionId);
  const { winner, ...progress } = progressOf({ mediation, votes: counted });
  if (winner !== null) return { kind: "resolved" };
  return { kind: "recorded", voter, ...progress, owners: isStuck({ mediation, votes: counted }) };
}

/**
 * The ask as if these voters had not been there when it was made: what they have voted does not
 * count, and a majority is one of those who stay. If they cannot decide it, the owners do. An
 * answer to a question is more than the option that is kept of it, so those who have given one are
 * asked for it again.
 */
export function withoutVoters(ask: Ask, gone: readonly string[], quorum: number | null): Ask {
  const { mediation, kind } = ask;
  const voters = mediation.voters.filter((voter) => !gone.includes(voter));
  const kept = [...ask.votes].filter(([voter]) => !gone.includes(voter));
  const votes = new Map(kind === "user_question" ? [] : kept);
  const left = { ...mediation, voters, quorum: quorumOf(quorum, voters) };
  return { ...ask, mediation: putToOwners(left, gone, votes), votes };
}

/** Puts an ask to the tenant's owners if none of its own voters can decide it. */
export function putToOwners(
  mediation: Mediation,
  gone: readonly string[],
  votes: Ask["votes"] = new Map(),
): Mediation {
  return isStuck({ mediation, votes }, gone) ? { ...mediation, owners: true } : mediation;
}

/**
 * Whether no vote that may still come can decide it. An absent voter may come back; who is gone
 * does not. Under `first-responder` there is always another, and under `local-only` a person at
 * the machine: an operator who wants that wants no owner from afar instead.
 */
function isStuck(
  { mediation, votes }: Pick<Ask, "mediation" | "votes">,
  gone: readonly string[] = [],
): boolean {
  const { policy, designated, voters } = mediation;
  if (policy === "designated") return designated !== null && gone.includes(designated);
  if (policy !== "consensus") return false;
  const { votesNeeded, winner } = progressOf({ mediation, votes });
  return winner === null && votesNeeded > voters.length - votes.size;
}

/**
 * The ask if these may not decide it any more, though they might when it was made. What they have
 * voted does not count. As many have to agree as before, or all who are left.
 */
export function withoutSpeakers(ask: Ask, speakers: readonly string[]): Ask {
  const { mediation } = ask;
  const voters = mediation.voters.filter((voter) => !speakers.includes(voter));
  const votes = new Map([...ask.votes].filter(([voter]) => !speakers.includes(voter)));
  const quorum = Math.min(mediation.quorum, Math.max(1, voters.length));
  const left = { ...mediation, voters, quorum };
  return { ...ask, mediation: putToOwners(left, speakers, votes), votes };
}

/** How far the votes for an ask have come, and what they have decided, if they have. */
export function progressOf({ mediation: { quorum }, votes }: Pick<Ask, "mediation" | "votes">) {
  const tallies = tally([...votes.values()]);
  const best = Math.max(0, ...Object.values(tallies));
  const winner = Object.keys(tallies).find((optionId) => (tallies[optionId] ?? 0) >= quorum);
  const votesNeeded = Math.max(0, quorum - best);
  return { tallies, votesReceived: votes.size, votesNeeded, winner: winner ?? null };
}

function tally(optionIds: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const id of optionIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  return Object.fromEntries(counts);
}

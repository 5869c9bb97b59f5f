import { type Refusal, refusal } from "../../error.ts";
import type { ClientId, UserId } from "../../id.ts";
import { GRANTS_MAX } from "../../limits.ts";
import { allows } from "../../policy/access.ts";
import { keyKind } from "../../policy/approval-key.ts";
import {
  type Ask,
  type AskOutcome,
  CANCEL_SENTINEL,
  type Count,
  countBallot,
  type ForbiddenReason,
  progressOf,
  selected,
  voterOf,
  withoutVoters,
} from "../../policy/ask.ts";
import type { Bound } from "../../policy/bound.ts";
import { ceilingRefusal } from "../../policy/ceiling.ts";
import { isGrantable } from "../../policy/gate.ts";
import { GRANT_RULES } from "../ask-event.ts";
import { modeOtherThanUsual } from "../bounded.ts";
import {
  type Actor,
  type Command,
  callerStamp,
  clientOf,
  originatorOf,
  SERVER,
  userOf,
} from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type Originator, stampOf } from "../event.ts";
import { isRegistered, type ResolvedAsk, type Session } from "../state.ts";
import { askNow, isSpeaker, isUndecidable, withoutVoter } from "./ask.ts";
import { resumeIfAnswered } from "./stop.ts";

/** Clients rely on the order of these checks. */
export function vote(session: Session, command: Command<"vote">): Decision {
  const { requestId, outcome, actor } = command;
  const { sessionId } = session;
  const open = session.connection.turn.openAsks.get(requestId);
  const past = session.resolvedAsks.get(requestId);
  if (open === undefined && past === undefined) {
    return refused(session, refusal("ask_not_found", { sessionId, requestId }));
  }
  const clientId = clientOf(actor);
  if (clientId !== null && !isRegistered(session, clientId, userOf(actor))) {
    return refused(session, refusal("invalid_client_id", { sessionId, clientId }));
  }
  if (outcome.outcome === "selected" && outcome.optionId === CANCEL_SENTINEL) {
    return notOffered(session, command, outcome.optionId);
  }
  return open === undefined ? tellLate(session, command, past) : weigh(session, command, open);
}

function tellLate(session: Session, command: Command<"vote">, past: ResolvedAsk | undefined) {
  const draft = new Draft(session, command);
  const { requestId } = command;
  if (past !== undefined) {
    const { promptId, ...outcome } = past;
    const stamp = { ...callerStamp(command.actor), ...(promptId && { promptId }) };
    draft.emit("permission_already_resolved", { requestId, outcome }, stamp);
  }
  return draft.refuse("ask_already_resolved", { sessionId: session.sessionId, requestId });
}

function notOffered(session: Session, { requestId }: Command<"vote">, optionId: string) {
  return refused(session, refusal("invalid_option_id", { requestId, optionId }));
}

/** Any voter may cancel the ask; the policy says who may choose an option. */
function weigh(session: Session, command: Command<"vote">, asked: Ask): Decision {
  const { outcome, actor } = command;
  const draft = new Draft(session, command);
  if (outcome.outcome === "cancelled") return resolve(draft, command, asked);
  const open = askNow(session, asked, command.bound);
  const { optionId } = outcome;
  if (!open.options.some((option) => option.optionId === optionId)) {
    return notOffered(session, command, optionId);
  }
  if (isSelfApproval(session, command, open)) {
    settle(draft, open.requestId, command.bound);
    return forbid(draft, command, open, "self_approval");
  }
  const forbidden = modeRefusal(session, command, open);
  if (forbidden !== null) return refused(session, forbidden);
  const loopback = actor.kind === "client" && actor.loopback;
  const isOwner = actor.kind === "client" && actor.role === "owner";
  const names = namesOf(session, originatorOf(actor));
  const count = countBallot(open, { names, loopback, optionId, isOwner });
  switch (count.kind) {
    case "resolved":
      return resolve(draft, command, open);
    case "repeated":
      settle(draft, open.requestId, command.bound);
      return draft.accept();
    case "recorded":
      return record(draft, command, open, { ...count, optionId });
    case "forbidden":
      settle(draft, open.requestId, command.bound);
      return forbid(draft, command, open, count.reason);
  }
}

/**
 * Ends an ask that no further vote would end: without the users of the turn those who are left have
 * agreed already, or there are none.
 */
function settle(draft: Draft, requestId: Ask["requestId"], bound: Bound | undefined) {
  const asked = draft.session.connection.turn.openAsks.get(requestId);
  if (asked === undefined) return;
  const open = askNow(draft.session, asked, bound);
  const winner = open === asked ? null : progressOf(open).winner;
  if (winner !== null) conclude(draft, open, { outcome: selected(winner), actor: SERVER });
  else if (isUndecidable(open, bound)) withoutVoter(draft, requestId);
}

/**
 * Whether users of the turn approve for themselves what the policy leaves to others. They may
 * always refuse it, and answer a question.
 */
function isSelfApproval(session: Session, command: Command<"vote">, open: Ask): boolean {
  const { bound, outcome, actor } = command;
  if (bound === undefined || bound.ceiling.selfApproval || open.kind !== "permission") return false;
  if (actor.kind !== "client" || !isSpeaker(session, actor.userId)) return false;
  const chosen = outcome.outcome === "selected" ? outcome.optionId : null;
  const option = open.options.find(({ optionId }) => optionId === chosen);
  return option?.kind !== "reject_once" && option?.kind !== "reject_always";
}

/**
 * Why the turn's users may not have the mode that an answer puts the agent into; null if they may.
 * Agents name the mode in the option. One that allows once and names no mode changes to the usual.
 */
function modeRefusal(session: Session, command: Command<"vote">, open: Ask): Refusal | null {
  const { bound, outcome } = command;
  if (bound === undefined || outcome.outcome !== "selected" || !isModeSwitch(open)) return null;
  const { optionId } = outcome;
  const kind = open.options.find((option) => option.optionId === optionId)?.kind;
  if (kind === "reject_once" || kind === "reject_always") return null;
  if (kind === "allow_once" && !(bound.offeredModes ?? [optionId]).includes(optionId)) return null;
  return ceilingRefusal(bound.ceiling, { agentMode: modeOtherThanUsual(session, optionId) });
}

function isModeSwitch({ toolCall, keys }: Ask): boolean {
  return toolCall.kind === "switch_mode" || keys.some((key) => keyKind(key) === "switch_mode");
}

/**
 * A user votes as that user. An ask may still know them by a client that came before there were
 * users: that one is theirs as well, and so is every client that is theirs by now.
 */
function namesOf(session: Session, { clientId, userId = null }: Originator): readonly string[] {
  const isTheirs = (id: ClientId, owner: UserId | null) => {
    return id === clientId || (userId !== null && owner === userId);
  };
  const clients = [...session.clients].filter(([id, client]) => isTheirs(id, client.userId));
  const names = [voterOf(clientId, userId), ...clients.map(([id]) => voterOf(id, null))];
  return names.filter((name) => name !== null);
}

function resolve(draft: Draft, command: Command<"vote">, open: Ask): Decision {
  conclude(draft, open, command);
  return draft.accept();
}

/** People have decided: what they chose is the answer, and what it grants is granted. */
function conclude(
  draft: Draft,
  open: Ask,
  { outcome, answers, actor }: Pick<Command<"vote">, "outcome" | "answers" | "actor">,
) {
  const { requestId } = open;
  const isLasting = isAlways(open, outcome);
  const keys = isLasting ? grantableKeys(draft.session, open) : [];
  const resolved = {
    requestId,
    outcome,
    reason: "vote",
    ...votedBy(actor),
    ...(answers && { answers }),
    ...(isLasting && keys.length === 0 && NOT_GRANTED),
  } as const;
  const stamp = stampOf(draft.session.running?.promptId ?? null, originatorOf(actor));
  draft.emit("permission_resolved", resolved, stamp);
  for (const key of keys) {
    const rules = GRANT_RULES;
    draft.emit("session_grant_added", { key, tier: open.tier, requestId, rules }, stamp);
  }
  if (open.access !== undefined) {
    const allowed = allows(open.options, outcome);
    const access = { requestId, access: open.access, tier: open.tier, allowed };
    draft.emit("agent_access", { ...access, by: "vote" }, stamp);
  }
  resumeIfAnswered(draft);
}

/** Who it was, beside the name that the vote counts under. */
function votedBy(actor: Actor) {
  const clientId = clientOf(actor);
  const userId = userOf(actor);
  return {
    ...(clientId && { voterClientId: clientId }),
    ...(userId && { voterUserId: userId }),
  };
}

const NOT_GRANTED = { granted: false } as const;

function isAlways({ options }: Ask, outcome: AskOutcome): boolean {
  if (outcome.outcome !== "selected") return false;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  return option?.kind === "allow_always";
}

/**
 * "Always" is for this session: later asks for the same keys need no person. A call is granted as
 * a whole or not at all, since some of its keys alone would let nothing pass; and nothing is
 * granted by the answer to a question, which allows no call.
 */
function grantableKeys(session: Session, { kind, keys }: Ask): readonly string[] {
  const { sessionGrants } = session.connection;
  const fresh = keys.filter((key) => !sessionGrants.has(key));
  const fits = sessionGrants.size + fresh.length <= GRANTS_MAX;
  return kind === "permission" && fits && keys.every(isGrantable) ? keys : [];
}

type Recorded = Extract<Count, { kind: "recorded" }>;

function record(
  draft: Draft,
  { actor }: Command<"vote">,
  { requestId, mediation }: Ask,
  { voter, optionId, votesReceived, votesNeeded, tallies }: Recorded & { optionId: string },
): Decision {
  const { quorum } = mediation;
  const progress = { votesReceived, votesNeeded, quorum, optionTallies: tallies };
  const vote = { requestId, voter, ...votedBy(actor), optionId, ...progress };
  draft.emit("permission_partial_vote", vote, draft.session.running?.stamp);
  return draft.accept();
}

function forbid(
  draft: Draft,
  command: Command<"vote">,
  { requestId }: Ask,
  reason: ForbiddenReason,
): Decision {
  const clientId = clientOf(command.actor);
  const userId = userOf(command.actor);
  const who = { ...(clientId && { clientId }), ...(userId && { userId }) };
  const forbidden = { requestId, reason, ...who };
  draft.emit("permission_forbidden", forbidden, draft.session.running?.stamp);
  const { sessionId } = draft.session;
  return draft.refuse("permission_forbidden", { requestId, sessionId, reason });
}

/** One grant, or all that there are; that there are none is then as good. */
export function revokeGrant(session: Session, command: Command<"revoke_grant">): Decision {
  const { key, actor } = command;
  const { sessionGrants } = session.connection;
  if (key !== null && !sessionGrants.has(key)) {
    return refused(session, refusal("grant_not_found", { key }));
  }
  const draft = new Draft(session, command);
  for (const one of key === null ? sessionGrants.keys() : [key]) {
    draft.emit("session_grant_revoked", { key: one }, callerStamp(actor));
  }
  return draft.accept();
}

/**
 * A counted voter has no vote any more. Each open ask that was put to that voter goes on
 * without them, and is decided by this if those who stay have already agreed: else it would wait
 * for a vote that cannot come.
 */
export function voterGone(session: Session, command: Command<"voter_gone">): Decision {
  const { userId, quorum, bound } = command;
  const names = userId === null ? [] : namesOf(session, { clientId: null, userId });
  const asks = session.connection.turn.openAsks.values();
  const draft = new Draft(session, command);
  for (const ask of asks) {
    const left = awaitedIn(ask).filter((voter) => names.includes(voter));
    if (left.length > 0) goOnWithout(draft, command, ask, left, quorum);
    settle(draft, ask.requestId, bound);
  }
  return draft.accept();
}

/** Those without whom the ask may not be decided; any voter can decide the others. */
function awaitedIn({ mediation: { policy, voters, designated } }: Ask): readonly string[] {
  if (policy === "consensus") return voters;
  return policy === "designated" && designated !== null ? [designated] : [];
}

function goOnWithout(
  draft: Draft,
  { actor, bound }: Command<"voter_gone">,
  ask: Ask,
  left: readonly string[],
  configured: number | null,
) {
  const less = withoutVoters(ask, left, configured);
  const { winner: _, tallies, ...progress } = progressOf(less);
  const { requestId, mediation } = less;
  const data = { requestId, left, ...progress, quorum: mediation.quorum, optionTallies: tallies };
  draft.emit("permission_voter_left", data, draft.session.running?.stamp);
  // Votes that the policy does not count by now decide nothing.
  const open = askNow(draft.session, less, bound);
  const { winner } = progressOf(open);
  if (winner !== null) conclude(draft, open, { outcome: selected(winner), actor });
}

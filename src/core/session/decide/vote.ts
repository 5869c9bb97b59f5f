import { type Refusal, refusal } from "../../error.ts";
import { keyKind } from "../../policy/approval-key.ts";
import {
  type Ask,
  CANCEL_SENTINEL,
  type Count,
  countBallot,
  type ForbiddenReason,
} from "../../policy/ask.ts";
import { ceilingRefusal } from "../../policy/ceiling.ts";
import { modeOtherThanUsual } from "../bounded.ts";
import { type Command, callerStamp, clientOf, isOwner, originatorOf, userOf } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { isRegistered, type ResolvedAsk, type Session } from "../state.ts";
import { askNow, isSpeaker } from "./ask.ts";
import { conclude, settle, votedBy } from "./conclude.ts";
import { askStamp } from "./open-asks.ts";
import { namesOf } from "./voter.ts";

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
  const names = namesOf(session, originatorOf(actor));
  const count = countBallot(open, { names, loopback, optionId, isOwner: isOwner(actor) });
  switch (count.kind) {
    case "resolved":
      return resolve(draft, command, open);
    case "repeated":
      settle(draft, open.requestId, command.bound);
      return draft.accept();
    case "recorded":
      record(draft, command, open, { ...count, optionId });
      settle(draft, open.requestId, command.bound);
      return draft.accept();
    case "forbidden":
      settle(draft, open.requestId, command.bound);
      return forbid(draft, command, open, count.reason);
  }
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

function resolve(draft: Draft, command: Command<"vote">, open: Ask): Decision {
  conclude(draft, open, command);
  return draft.accept();
}

interface ChosenOption {
  readonly optionId: string;
}

/** Said only where it is so. */
const TO_OWNERS = { owners: true } as const;

type Recorded = Extract<Count, { kind: "recorded" }>;

function record(
  draft: Draft,
  { actor }: Command<"vote">,
  ask: Ask,
  { voter, optionId, votesReceived, votesNeeded, tallies, owners }: Recorded & ChosenOption,
) {
  const { requestId, mediation } = ask;
  const { quorum } = mediation;
  const progress = { votesReceived, votesNeeded, quorum, optionTallies: tallies };
  const stuck = owners && TO_OWNERS;
  const vote = { requestId, voter, ...votedBy(actor), optionId, ...progress, ...stuck };
  draft.emit("permission_partial_vote", vote, askStamp(draft.session, ask));
}

function forbid(
  draft: Draft,
  command: Command<"vote">,
  ask: Ask,
  reason: ForbiddenReason,
): Decision {
  const { requestId } = ask;
  const clientId = clientOf(command.actor);
  const userId = userOf(command.actor);
  const who = { ...(clientId && { clientId }), ...(userId && { userId }) };
  const forbidden = { requestId, reason, ...who };
  draft.emit("permission_forbidden", forbidden, askStamp(draft.session, ask));
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

import { type Refusal, refusal } from "../../error.ts";
import { stringAt, withoutNulls } from "../../json.ts";
import { AGENT_NAME_CHARS_MAX, ASK_OPTIONS_MAX, ASKS_OPEN_MAX, GRANTS_MAX } from "../../limits.ts";
import { approvalKeys } from "../../policy/allowlist.ts";
import { type Ask, type AskOutcome, CANCEL_SENTINEL } from "../../policy/ask.ts";
import { passGates } from "../../policy/gate.ts";
import {
  type Count,
  countBallot,
  type ForbiddenReason,
  openMediation,
  voterOf,
} from "../../policy/mediation.ts";
import { type RiskTier, riskTier } from "../../policy/risk.ts";
import {
  type Actor,
  type Command,
  callerStamp,
  clientOf,
  type NewAsk,
  userOf,
} from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type Stamp, stampOf } from "../event.ts";
import { isRegistered, type Session } from "../state.ts";
import { resumeIfAnswered } from "./stop.ts";

/** The agent asks. The gates may answer by themselves; the session waits only for people. */
export function ask(session: Session, command: Command<"ask">): Decision {
  const why = askRefusal(session, command);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  const { requestId, kind, toolCall, known, options, workflow } = command;
  const call = { ...known, ...withoutNulls(toolCall) };
  const keys = approvalKeys(call);
  const tier = riskTier(stringAt(call, "kind"));
  const { securityMode, allowlist } = session.fixed;
  const { sessionGrants: grants, autonomyProfile } = session.connection;
  const gates = { kind, keys, tier, options, workflow, securityMode, allowlist };
  const ruling = passGates({ ...gates, grants, autonomyProfile });
  if (ruling.kind === "decided") {
    const { gate, allowed, outcome } = ruling;
    const decided = { requestId, toolCall, tier, gate, allowed, outcome };
    draft.emit("permission_decided", decided, session.running?.stamp);
  } else {
    askPeople(draft, command, keys, tier);
  }
  return draft.accept();
}

function askPeople(draft: Draft, command: Command<"ask">, keys: readonly string[], tier: RiskTier) {
  const { requestId, kind, toolCall, options, deadlineAtMs, atMs } = command;
  const mediation = mediationFor(draft.session, command);
  const about = { requestId, kind, toolCall, options, keys, tier, mediation, askedAtMs: atMs };
  const asked = deadlineAtMs === null ? about : { ...about, deadlineAtMs };
  draft.emit("permission_request", asked, draft.session.running?.stamp);
  if (draft.state === "running") draft.moveTo("waiting", "question_requested");
}

/** An agent's request must be answerable: by an offered option, told apart from a cancel. */
function askRefusal(
  session: Session,
  { requestId, options, deadlineAtMs }: NewAsk,
): Refusal | null {
  if (session.running?.stopCause !== null) {
    return refusal("agent_out_of_turn", { trigger: "ask", state: "stopping" });
  }
  const ids = new Set(options.map(({ optionId }) => optionId));
  if (ids.has(CANCEL_SENTINEL)) {
    return refusal("cancel_sentinel_collision", { requestId, sentinel: CANCEL_SENTINEL });
  }
  const open = session.connection.turn.deferredInteractiveMessage;
  const known = open?.has(requestId) || session.resolvedAsks.has(requestId);
  const named = [...ids].every((id) => id !== "" && id.length <= AGENT_NAME_CHARS_MAX);
  const distinct = ids.size === options.length && options.length > 0;
  const timed = deadlineAtMs === null || Number.isSafeInteger(deadlineAtMs);
  if (known || !named || !distinct || !timed || options.length > ASK_OPTIONS_MAX) {
    return refusal("invalid_ask", { limit: ASK_OPTIONS_MAX });
  }
  const full = (open?.size ?? 0) >= ASKS_OPEN_MAX;
  return full ? refusal("ask_limit_exceeded", { limit: ASKS_OPEN_MAX }) : null;
}

function mediationFor(session: Session, { policy, quorum, present }: NewAsk) {
  const voters = [...session.clients]
    .filter(([clientId]) => present.includes(clientId))
    .map(([clientId, { userId }]) => voterOf(clientId, userId))
    .filter((voter) => voter !== null);
  const { running } = session;
  const designated = voterOf(running?.clientId ?? null, running?.userId ?? null);
  return openMediation(policy, quorum, voters, designated);
}

/** The order of these checks is the wire's (reference 8.3). */
export function vote(session: Session, command: Command<"vote">): Decision {
  const { requestId, outcome, actor } = command;
  const { sessionId } = session;
  const open = session.connection.turn.deferredInteractiveMessage?.get(requestId);
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

function tellLate(session: Session, command: Command<"vote">, past: AskOutcome | undefined) {
  const draft = new Draft(session, command);
  const { requestId } = command;
  if (past) draft.emit("permission_already_resolved", { requestId, outcome: past });
  return draft.refuse("ask_already_resolved", { sessionId: session.sessionId, requestId });
}

function notOffered(session: Session, { requestId }: Command<"vote">, optionId: string) {
  return refused(session, refusal("invalid_option_id", { requestId, optionId }));
}

/** Anybody may call the whole thing off; choosing an option is for those the policy names. */
function weigh(session: Session, command: Command<"vote">, open: Ask): Decision {
  const { outcome, actor } = command;
  const draft = new Draft(session, command);
  if (outcome.outcome === "cancelled") return resolve(draft, command, open);
  const { optionId } = outcome;
  if (!open.options.some((option) => option.optionId === optionId)) {
    return notOffered(session, command, optionId);
  }
  const voter = voterIn(session, actor);
  const loopback = actor.kind === "client" && actor.loopback;
  const count = countBallot(open, { voter, loopback, optionId });
  switch (count.kind) {
    case "resolved":
      return resolve(draft, command, open);
    case "repeated":
      return draft.accept();
    case "recorded":
      return record(draft, open, { voter, optionId }, count);
    case "forbidden":
      return forbid(draft, command, open, count.reason);
  }
}

/** A voter as registered: a client that came before there were users keeps its own name. */
function voterIn(session: Session, actor: Actor): string | null {
  const clientId = clientOf(actor);
  const registered = clientId === null ? undefined : session.clients.get(clientId);
  return voterOf(clientId, registered ? registered.userId : userOf(actor));
}

function resolve(draft: Draft, command: Command<"vote">, open: Ask): Decision {
  const { requestId, outcome, answers } = command;
  const voter = clientOf(command.actor);
  const userId = userOf(command.actor);
  const by = { ...(voter && { voterClientId: voter }), ...(userId && { voterUserId: userId }) };
  const resolved = {
    requestId,
    outcome,
    reason: "vote",
    ...by,
    ...(answers && { answers }),
  } as const;
  const stamp = stampOf(draft.session.running?.promptId ?? null, voter);
  draft.emit("permission_resolved", resolved, stamp);
  grantIfLasting(draft, open, outcome, stamp);
  resumeIfAnswered(draft);
  return draft.accept();
}

/** "Always" is for this session: later asks for the same keys need no person. */
function grantIfLasting(draft: Draft, ask: Ask, outcome: AskOutcome, stamp: Stamp) {
  const { options, keys, tier } = ask;
  if (outcome.outcome !== "selected") return;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  if (option?.kind !== "allow_always") return;
  for (const key of keys) {
    if (draft.session.connection.sessionGrants.size >= GRANTS_MAX) return;
    draft.emit("session_grant_added", { key, tier }, stamp);
  }
}

type Recorded = Extract<Count, { kind: "recorded" }>;

function record(
  draft: Draft,
  { requestId, mediation }: Ask,
  ballot: { readonly voter: string | null; readonly optionId: string },
  { votesReceived, votesNeeded, tallies }: Recorded,
): Decision {
  const { voter, optionId } = ballot;
  if (voter === null) return draft.accept();
  const { quorum } = mediation;
  const progress = { votesReceived, votesNeeded, quorum, optionTallies: tallies };
  const stamp = draft.session.running?.stamp;
  draft.emit("permission_partial_vote", { requestId, voter, optionId, ...progress }, stamp);
  return draft.accept();
}

function forbid(
  draft: Draft,
  command: Command<"vote">,
  { requestId }: Ask,
  reason: ForbiddenReason,
): Decision {
  const clientId = clientOf(command.actor);
  const forbidden = { requestId, reason, ...(clientId && { clientId }) };
  draft.emit("permission_forbidden", forbidden, draft.session.running?.stamp);
  const { sessionId } = draft.session;
  return draft.refuse("permission_forbidden", { requestId, sessionId, reason });
}

export function revokeGrant(session: Session, command: Command<"revoke_grant">): Decision {
  const { key } = command;
  if (!session.connection.sessionGrants.has(key)) {
    return refused(session, refusal("grant_not_found", { key }));
  }
  const draft = new Draft(session, command);
  draft.emit("session_grant_revoked", { key }, callerStamp(command.actor));
  return draft.accept();
}

import { type Refusal, refusal } from "../../error.ts";
import type { ClientId, UserId } from "../../id.ts";
import { withoutNulls } from "../../json.ts";
import { AGENT_NAME_CHARS_MAX, ASK_OPTIONS_MAX, ASKS_OPEN_MAX, GRANTS_MAX } from "../../limits.ts";
import {
  ACCESS_OPTIONS,
  type Access,
  accessCall,
  accessKey,
  accessTier,
  allows,
  judgeAccess,
} from "../../policy/access.ts";
import { approvalKeys, coveredKeys, tierOf } from "../../policy/approval-key.ts";
import {
  type Ask,
  type AskOutcome,
  CANCEL_SENTINEL,
  type Count,
  countBallot,
  type ForbiddenReason,
  openMediation,
  progressOf,
  selected,
  voterOf,
  withoutVoters,
} from "../../policy/ask.ts";
import { isGrantable, passGates } from "../../policy/gate.ts";
import type { RiskTier } from "../../policy/risk.ts";
import { GRANT_RULES } from "../ask-event.ts";
import {
  type Actor,
  type Command,
  callerStamp,
  clientOf,
  type NewAsk,
  originatorOf,
  userOf,
} from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type Originator, stampOf } from "../event.ts";
import { isRegistered, type Session } from "../state.ts";
import { resumeIfAnswered } from "./stop.ts";

/** The agent asks. The gates may answer by themselves; the session waits only for people. */
export function ask(session: Session, command: Command<"ask">): Decision {
  const why = askRefusal(session, command);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  const { requestId, kind, toolCall, known, options, workflow } = command;
  const call = { ...known, ...withoutNulls(toolCall) };
  const keys = approvalKeys(call, session.chosen.currentCwd);
  const tier = tierOf(call);
  const covered = coveredKeys(call, session.chosen.currentCwd);
  const judged = { keys, ...(covered.length > 0 && { covers: covered }), tier };
  const { securityMode, allowlist } = session.fixed;
  const { sessionGrants: grants, autonomyProfile } = session.connection;
  const gates = { kind, keys, tier, options, workflow, securityMode, allowlist };
  const ruling = passGates({ ...gates, grants, autonomyProfile });
  if (ruling.kind === "decided") {
    const { gate, allowed, outcome } = ruling;
    const decided = { requestId, toolCall, ...judged, gate, allowed, outcome };
    draft.emit("permission_decided", decided, session.running?.stamp);
  } else {
    askPeople(draft, command, command.atMs, judged);
  }
  return draft.accept();
}

/** What an ask was found to be about. */
interface Judged {
  readonly keys: readonly string[];
  readonly covers?: readonly string[];
  readonly tier: RiskTier;
  /** There if the server asks for what the agent wants done. */
  readonly access?: Access;
}

function askPeople(draft: Draft, ask: PeopleAsk, askedAtMs: number, judged: Judged) {
  const { requestId, kind, toolCall, options, deadlineAtMs } = ask;
  const mediation = mediationFor(draft.session, ask);
  const about = { requestId, kind, toolCall, options, ...judged, mediation, askedAtMs };
  const asked = deadlineAtMs === null ? about : { ...about, deadlineAtMs };
  draft.emit("permission_request", asked, draft.session.running?.stamp);
  if (draft.state === "running") draft.moveTo("waiting", "question_requested");
}

/** As much of an ask as people have to do with. */
type PeopleAsk = Omit<NewAsk, "known" | "workflow">;

/** An agent's request must be answerable by an offered option that is not the cancel sentinel. */
function askRefusal(
  session: Session,
  { requestId, options, deadlineAtMs }: PeopleAsk,
): Refusal | null {
  if (session.running?.stopCause !== null) {
    return refusal("agent_out_of_turn", { trigger: "ask", state: "stopping" });
  }
  const ids = new Set(options.map(({ optionId }) => optionId));
  if (ids.has(CANCEL_SENTINEL)) {
    return refusal("cancel_sentinel_collision", { requestId, sentinel: CANCEL_SENTINEL });
  }
  const { openAsks } = session.connection.turn;
  const known = openAsks.has(requestId) || session.resolvedAsks.has(requestId);
  const named = [...ids].every((id) => id !== "" && id.length <= AGENT_NAME_CHARS_MAX);
  const distinct = ids.size === options.length && options.length > 0;
  const timed = deadlineAtMs === null || Number.isSafeInteger(deadlineAtMs);
  if (known || !named || !distinct || !timed || options.length > ASK_OPTIONS_MAX) {
    return refusal("invalid_ask", { limit: ASK_OPTIONS_MAX });
  }
  const full = openAsks.size >= ASKS_OPEN_MAX;
  return full ? refusal("ask_limit_exceeded", { limit: ASKS_OPEN_MAX }) : null;
}

function mediationFor(session: Session, { policy, quorum, present }: PeopleAsk) {
  const voters = [...session.clients]
    .filter(([clientId]) => present.includes(clientId))
    .map(([clientId, { userId }]) => voterOf(clientId, userId))
    .filter((voter) => voter !== null);
  const { running } = session;
  const designated = voterOf(running?.clientId ?? null, running?.userId ?? null);
  const isLost = isOutside(session, running?.userId ?? null) && !voters.includes(`${designated}`);
  return openMediation(policy, quorum, voters, isLost ? null : designated);
}

/** An owner may be outside of the audience and see the session all the same. */
function isOutside({ chosen: { audience } }: Session, userId: UserId | null): boolean {
  return audience !== undefined && userId !== null && !audience.includes(userId);
}

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

function tellLate(session: Session, command: Command<"vote">, past: AskOutcome | undefined) {
  const draft = new Draft(session, command);
  const { requestId } = command;
  const stamp = callerStamp(command.actor);
  if (past) draft.emit("permission_already_resolved", { requestId, outcome: past }, stamp);
  return draft.refuse("ask_already_resolved", { sessionId: session.sessionId, requestId });
}

function notOffered(session: Session, { requestId }: Command<"vote">, optionId: string) {
  return refused(session, refusal("invalid_option_id", { requestId, optionId }));
}

/** Any voter may cancel the ask; the policy says who may choose an option. */
function weigh(session: Session, command: Command<"vote">, open: Ask): Decision {
  const { outcome, actor } = command;
  const draft = new Draft(session, command);
  if (outcome.outcome === "cancelled") return resolve(draft, command, open);
  const { optionId } = outcome;
  if (!open.options.some((option) => option.optionId === optionId)) {
    return notOffered(session, command, optionId);
  }
  const loopback = actor.kind === "client" && actor.loopback;
  const names = namesOf(session, originatorOf(actor));
  const count = countBallot(open, { names, loopback, optionId });
  switch (count.kind) {
    case "resolved":
      return resolve(draft, command, open);
    case "repeated":
      return draft.accept();
    case "recorded":
      return record(draft, command, open, { ...count, optionId });
    case "forbidden":
      return forbid(draft, command, open, count.reason);
  }
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
 * The agent has the server run a command, write a file or read one. What a granted ask covers is
 * done; the rest passes the gates of an ask, and people are asked where no gate decides.
 */
export function access(session: Session, command: Command<"access">): Decision {
  const { requestId, access: wanted, atMs } = command;
  const draft = new Draft(session, command);
  const tier = accessTier(wanted);
  const ruling = judge(session, wanted);
  if (ruling.kind === "decided") {
    const { by, allowed, permit } = ruling;
    const decided = { requestId, access: wanted, tier, allowed, by };
    const data = permit === undefined ? decided : { ...decided, answeredBy: permit.requestId };
    draft.emit("agent_access", data, session.running?.stamp);
    return draft.accept();
  }
  const { policy, quorum, present, deadlineAtMs } = command;
  const ask: PeopleAsk = {
    ...{ requestId, policy, quorum, present, deadlineAtMs },
    kind: "permission",
    toolCall: accessCall(wanted, requestId),
    options: ACCESS_OPTIONS,
  };
  const why = askRefusal(session, ask);
  if (why !== null) return refused(session, why);
  askPeople(draft, ask, atMs, { keys: [accessKey(wanted)], tier, access: wanted });
  return draft.accept();
}

function judge(session: Session, wanted: Access) {
  const { fixed, chosen, connection, running } = session;
  const { securityMode, allowlist, workspaceCwd } = fixed;
  const { approvalMode, currentCwd } = chosen;
  const { sessionGrants: grants, autonomyProfile } = connection;
  const permits = running?.stopCause === null ? running.permits : null;
  const rules = { securityMode, allowlist, grants, autonomyProfile, approvalMode };
  return judgeAccess({ access: wanted, permits, workspaceCwd, currentCwd, ...rules });
}

/**
 * A counted voter has no vote any more. Each open ask that was put to that voter goes on
 * without them, and is decided by this if those who stay have already agreed: else it would wait
 * for a vote that cannot come.
 */
export function voterGone(session: Session, command: Command<"voter_gone">): Decision {
  const { userId, quorum } = command;
  const names = namesOf(session, { clientId: null, userId });
  const asks = session.connection.turn.openAsks.values();
  const draft = new Draft(session, command);
  for (const ask of asks) {
    const left = awaitedIn(ask).filter((voter) => names.includes(voter));
    if (left.length > 0) goOnWithout(draft, command, ask, left, quorum);
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
  { actor }: Command<"voter_gone">,
  ask: Ask,
  left: readonly string[],
  configured: number | null,
) {
  const less = withoutVoters(ask, left, configured);
  const { winner, tallies, ...progress } = progressOf(less);
  const { requestId, mediation } = less;
  const data = { requestId, left, ...progress, quorum: mediation.quorum, optionTallies: tallies };
  draft.emit("permission_voter_left", data, draft.session.running?.stamp);
  if (winner !== null) conclude(draft, less, { outcome: selected(winner), actor });
}

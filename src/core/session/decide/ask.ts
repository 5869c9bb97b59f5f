import { type Refusal, refusal } from "../../error.ts";
import type { ChildId, UserId } from "../../id.ts";
import { type JsonObject, withoutNulls } from "../../json.ts";
import { AGENT_NAME_CHARS_MAX, ASK_OPTIONS_MAX, ASKS_OPEN_MAX } from "../../limits.ts";
import { isPermitted } from "../../permission.ts";
import {
  ACCESS_OPTIONS,
  type Access,
  accessCall,
  accessKey,
  accessTier,
  judgeAccess,
} from "../../policy/access.ts";
import { approvalKeys, coveredKeys, tierOf } from "../../policy/approval-key.ts";
import {
  type Ask,
  CANCEL_SENTINEL,
  CANCELLED,
  openMediation,
  putToOwners,
  voterOf,
  withoutSpeakers,
} from "../../policy/ask.ts";
import type { Bound } from "../../policy/bound.ts";
import {
  askingCeiling,
  cappedRules,
  ceilingRefusal,
  type GateRules,
  isUnasked,
} from "../../policy/ceiling.ts";
import { type GuardOpinion, passGates, refusedOutside } from "../../policy/gate.ts";
import { lesserAutonomy, type RiskTier } from "../../policy/risk.ts";
import type { ChildRules } from "../../turn.ts";
import type { CappedBy } from "../ask-event.ts";
import { turnSettings } from "../bounded.ts";
import { childFailure, withChildCall } from "../child.ts";
import type { Command, NewAsk } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { permitsOf } from "../evolve/ask.ts";
import { type Session, speakersOf } from "../state.ts";
import { childAtWork, endChild } from "./child.ts";
import { askStamp } from "./open-asks.ts";
import { endAsk } from "./stop.ts";

/** The agent asks. The gates may answer by themselves; the session waits only for people. */
export function ask(session: Session, command: Command<"ask">): Decision {
  const why = askRefusal(session, command);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  const { requestId, kind, known, options, outside, guard, childId } = command;
  const toolCall = named(command.toolCall, childId);
  const call = { ...named(known, childId), ...withoutNulls(toolCall) };
  const keys = approvalKeys(call, session.chosen.currentCwd);
  const tier = tierOf(call);
  const covered = coveredKeys(call, session.chosen.currentCwd);
  const { rules, capped } = rulesFor(session, command);
  const about = { keys, ...(covered.length > 0 && { covers: covered }), tier };
  const guarded = guard && { guard };
  const judged = { ...about, ...(capped && { capped }), ...guarded };
  const ruling =
    outside === undefined
      ? passGates({ kind, keys, tier, options, ...opinionOn(command, tier), ...guarded, ...rules })
      : refusedOutside(options);
  if (ruling.kind === "decided") {
    const { gate, allowed, outcome } = ruling;
    const decided = { requestId, toolCall, ...judged, gate, allowed, outcome };
    draft.emit("permission_decided", decided, askStamp(session, command));
  } else {
    askPeople(draft, { ...command, toolCall }, command.atMs, judged);
  }
  return draft.accept();
}

/**
 * The rules of the gates: those of the session, under the ceiling of the turn's users. A turn whose
 * agent, model or agent mode the policy has forbidden since it began goes on, and people decide
 * all that it asks for.
 */
function rulesFor(session: Session, { bound, childId }: Pick<Command<"ask">, "bound" | "childId">) {
  const { securityMode, allowlist } = session.fixed;
  const { sessionGrants: grants, autonomyProfile } = session.connection;
  const ofSession: GateRules = { securityMode, allowlist, grants, autonomyProfile };
  const child = childId && childAtWork(session, childId);
  const own = child ? childRules(ofSession, child.rules) : ofSession;
  if (bound === undefined) return { rules: own, capped: null };
  const { ceiling } = bound;
  const isForbidden = ceilingRefusal(ceiling, turnSettings(session)) !== null;
  const highest = isForbidden ? askingCeiling(ceiling) : ceiling;
  const rules = cappedRules(own, highest);
  const isLower = rules.securityMode !== securityMode || rules.asksListed === true;
  if (!isLower && rules.autonomyProfile === own.autonomyProfile) return { rules, capped: null };
  const now = { securityMode: rules.securityMode, autonomyProfile: rules.autonomyProfile };
  return { rules, capped: { role: ceiling.role, ...now } };
}

/** What a workflow allows above the tenant's policy, people decide; what it denies is denied. */
function opinionOn(
  { workflow = null, bound }: Pick<Command<"access">, "workflow" | "bound">,
  tier: RiskTier,
) {
  const isAbove = bound !== undefined && !isUnasked(bound.ceiling, tier);
  return { workflow: workflow === "approve" && isAbove ? "defer" : workflow } as const;
}

/** What is set now, as far as it was set when the child began: nothing makes it wider. */
function childRules(now: GateRules, then: ChildRules): GateRules {
  const grants = [...now.grants].filter(([key]) => then.grants.has(key));
  return {
    ...now,
    grants: new Map(grants),
    autonomyProfile: lesserAutonomy(now.autonomyProfile, then.autonomyProfile),
    ...(then.readOnly && { readOnly: true }),
  };
}

/** A call by the name that it has in the log. */
function named(call: JsonObject, childId: ChildId | undefined): JsonObject {
  return childId === undefined ? call : withChildCall(childId, call);
}

/** What an ask was found to be about. */
interface Judged {
  readonly capped?: CappedBy;
  readonly guard?: GuardOpinion;
  readonly keys: readonly string[];
  readonly covers?: readonly string[];
  readonly tier: RiskTier;
  /** There if the server asks for what the agent wants done. */
  readonly access?: Access;
}

function askPeople(draft: Draft, ask: PeopleAsk, askedAtMs: number, judged: Judged) {
  const { requestId, kind, toolCall, options, deadlineAtMs, bound } = ask;
  const mediation = mediationFor(draft.session, ask);
  const about = { requestId, kind, toolCall, options, ...judged, mediation, askedAtMs };
  const asked = deadlineAtMs === null ? about : { ...about, deadlineAtMs };
  draft.emit("permission_request", asked, askStamp(draft.session, ask));
  if (isUndecidable({ kind, mediation }, bound)) return withoutVoter(draft, requestId);
  if (draft.state === "running") draft.moveTo("waiting", "question_requested");
}

/** As much of an ask as people have to do with. */
type PeopleAsk = Omit<NewAsk, "known" | "workflow" | "outside"> & Pick<Command, "bound">;

/**
 * An open ask by the policy of now. Users of the turn who may not approve for themselves are no
 * voters of it, as if the policy had been there, and they had spoken, before the agent asked.
 */
export function askNow(session: Session, ask: Ask, bound: Bound | undefined): Ask {
  if (bound === undefined || bound.ceiling.selfApproval || ask.kind !== "permission") return ask;
  return withoutSpeakers(ask, speakerNames(session));
}

/** All names under which users of the turn may have been counted as voters. */
function speakerNames(session: Session): readonly string[] {
  const { running, clients } = session;
  const theirs = [...clients].filter(([, { userId }]) => isSpeaker(session, userId));
  const names = [
    voterOf(running?.clientId ?? null, running?.userId ?? null),
    ...speakersOf(session).map(({ userId }) => voterOf(null, userId)),
    ...theirs.map(([clientId]) => voterOf(clientId, null)),
  ];
  return names.filter((name) => name !== null);
}

/**
 * Whether the tenant has no user who may decide an ask, present or absent. Without a policy every
 * caller is the operator, who may always come back.
 */
export function isUndecidable({ kind, mediation }: Pick<Ask, "kind" | "mediation">, bound?: Bound) {
  if (bound === undefined) return false;
  const isBarred = kind === "permission" && !bound.ceiling.selfApproval;
  const { voters, owners } = isBarred ? bound.others : bound.anyone;
  return mediation.owners ? !owners : !voters;
}

/** Ends an ask that would wait for ever, and the child that cannot go on without an answer. */
export function withoutVoter(draft: Draft, requestId: Ask["requestId"]) {
  const { openAsks, children } = draft.session.connection.turn;
  const { childId } = openAsks.get(requestId) ?? {};
  endAsk(draft, { requestId, outcome: CANCELLED, reason: "no_voter" });
  const child = childId && children.get(childId);
  if (child) endChild(draft, child, childFailure("no_voter"));
}

/** An agent's request must be answerable by an offered option that is not the cancel sentinel. */
function askRefusal(
  session: Session,
  { requestId, options, deadlineAtMs, childId }: PeopleAsk,
): Refusal | null {
  if (childId !== undefined && childAtWork(session, childId) === null) {
    return refusal("child_not_open", { childId });
  }
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

function mediationFor(session: Session, { policy, quorum, present, kind, bound }: PeopleAsk) {
  const isBarred = kind === "permission" && bound?.ceiling.selfApproval === false;
  const isOut = (userId: UserId | null) => isBarred && isSpeaker(session, userId);
  const voters = [...session.clients]
    .filter(([clientId, { userId }]) => present.includes(clientId) && !isOut(userId))
    .map(([clientId, { userId }]) => voterOf(clientId, userId))
    .filter((voter) => voter !== null);
  const { running } = session;
  const designated = voterOf(running?.clientId ?? null, running?.userId ?? null);
  const isGone = isBarred || isPrompterGone(session, bound);
  const mediation = openMediation(policy, quorum, voters, designated);
  return putToOwners(mediation, isGone && designated !== null ? [designated] : []);
}

/**
 * Whether the one who sent the prompt has no vote: a user who was removed, may not vote, or does
 * not see the session any more; without users, a client that has left.
 */
function isPrompterGone({ running, clients }: Session, bound: Bound | undefined): boolean {
  const { clientId = null, userId = null } = running ?? {};
  if (userId === null) return clientId !== null && !clients.has(clientId);
  return bound !== undefined && !isPermitted(bound.authority.role, "session:vote");
}

/** Whether words of this user are in the turn; users without a name count as one. */
export function isSpeaker(session: Session, userId: UserId | null): boolean {
  return speakersOf(session).some((speaker) => speaker.userId === userId);
}

/**
 * The agent has the server run a command, write a file or read one. What a granted ask covers is
 * done; the rest passes the gates of an ask, and people are asked where no gate decides.
 */
export function access(session: Session, command: Command<"access">): Decision {
  const { requestId, access: wanted, atMs, guard, childId } = command;
  if (childId !== undefined && childAtWork(session, childId) === null) {
    return refused(session, refusal("child_not_open", { childId }));
  }
  const draft = new Draft(session, command);
  const tier = accessTier(wanted);
  const { rules, capped } = rulesFor(session, command);
  const cap = { ...(capped && { capped }), ...(guard && { guard }) };
  const ruling = judge(session, command, rules);
  if (ruling.kind === "decided") {
    const { by, allowed, permit } = ruling;
    const decided = { requestId, access: wanted, tier, allowed, by, ...cap };
    const data = permit === undefined ? decided : { ...decided, answeredBy: permit.requestId };
    draft.emit("agent_access", data, askStamp(session, command));
    return draft.accept();
  }
  const { policy, quorum, present, deadlineAtMs, bound } = command;
  const ask: PeopleAsk = {
    ...{ requestId, policy, quorum, present, deadlineAtMs, ...(bound && { bound }) },
    ...(childId !== undefined && { childId }),
    kind: "permission",
    toolCall: accessCall(wanted, requestId),
    options: ACCESS_OPTIONS,
  };
  const why = askRefusal(session, ask);
  if (why !== null) return refused(session, why);
  askPeople(draft, ask, atMs, { keys: [accessKey(wanted)], tier, access: wanted, ...cap });
  return draft.accept();
}

function judge(session: Session, command: Command<"access">, rules: GateRules) {
  const { access: wanted, guard, childId } = command;
  const { fixed, chosen, running } = session;
  const { workspaceCwd } = fixed;
  const { currentCwd } = chosen;
  const child = childId && childAtWork(session, childId);
  const approvalMode = child?.rules.isPlanning ? "plan" : chosen.approvalMode;
  const permits = running?.stopCause === null ? permitsOf(session, childId) : null;
  const about = { access: wanted, permits, workspaceCwd, currentCwd, approvalMode };
  const opinion = opinionOn(command, accessTier(wanted));
  return judgeAccess({ ...about, ...opinion, ...rules, ...(guard && { guard }) });
}

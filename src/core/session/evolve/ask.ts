import type { ToolCallNews } from "../../agent-update.ts";
import type { ChildId } from "../../id.ts";
import { stringAt } from "../../json.ts";
import { ASKS_RESOLVED_MAX, GRANTS_MAX } from "../../limits.ts";
import { allows, type Permit, withoutEnded, withoutUse, withPermit } from "../../policy/access.ts";
import { type Ask, type AskOutcome, withoutVoters } from "../../policy/ask.ts";
import { GRANT_RULES } from "../ask-event.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session } from "../state.ts";
import { asked, withChild } from "./child.ts";
import { boundTo } from "./client.ts";

export function made(session: Session, event: SessionEvent<"permission_request">): Session {
  const { sessionId: _, capped: __, guard: ___, deadlineAtMs = null, ...rest } = event.data;
  const whose = event.childId === undefined ? {} : { childId: event.childId };
  const asker = asked(session, event.childId);
  return withAsk(asker, { ...rest, deadlineAtMs, votes: new Map(), ...whose });
}

export function voted(
  session: Session,
  { data }: SessionEvent<"permission_partial_vote">,
): Session {
  const ask = session.connection.turn.openAsks.get(data.requestId);
  if (ask === undefined) return session;
  const votes = new Map(ask.votes).set(data.voter, data.optionId);
  const mediation = data.owners ? { ...ask.mediation, owners: data.owners } : ask.mediation;
  const bound = boundTo(session, data.voterClientId, data.voterUserId);
  return withAsk(bound, { ...ask, mediation, votes });
}

export function voterLeft(
  session: Session,
  { data }: SessionEvent<"permission_voter_left">,
): Session {
  const ask = session.connection.turn.openAsks.get(data.requestId);
  return ask === undefined ? session : withAsk(session, withoutVoters(ask, data.left, data.quorum));
}

function withAsk(session: Session, ask: Ask): Session {
  const openAsks = new Map(session.connection.turn.openAsks).set(ask.requestId, ask);
  return inTurn(session, { openAsks });
}

export function resolved(session: Session, event: SessionEvent<"permission_resolved">): Session {
  const { data, promptId } = event;
  const openAsks = new Map(session.connection.turn.openAsks);
  const ask = openAsks.get(data.requestId);
  openAsks.delete(data.requestId);
  const kept = [...session.resolvedAsks].slice(1 - ASKS_RESOLVED_MAX);
  const resolvedAsks = new Map([
    ...kept,
    [data.requestId, { ...data.outcome, ...(promptId && { promptId }) }],
  ]);
  const bound = boundTo(session, data.voterClientId, data.voterUserId);
  const isVoted = ask !== undefined && data.reason === "vote";
  const answered = isVoted ? withAnswer(bound, ask, data.outcome) : bound;
  return inTurn({ ...answered, resolvedAsks }, { openAsks });
}

export function granted(session: Session, event: SessionEvent<"session_grant_added">): Session {
  const { data, childId } = event;
  if (data.rules !== GRANT_RULES) {
    return { ...session, voidGrants: [...session.voidGrants, data.key].slice(-GRANTS_MAX) };
  }
  const grants = new Map(session.connection.sessionGrants).set(data.key, data.tier);
  const child = childId && session.connection.turn.children.get(childId);
  if (!child) return withGrants(session, grants);
  const ours = new Set(child.rules.grants).add(data.key);
  const rules = { ...child.rules, grants: ours };
  return withGrants(withChild(session, child.childId, { rules }), grants);
}

export function grantRevoked(session: Session, event: SessionEvent<"session_grant_revoked">) {
  const grants = new Map(session.connection.sessionGrants);
  grants.delete(event.data.key);
  const voidGrants = session.voidGrants.filter((key) => key !== event.data.key);
  return withGrants({ ...session, voidGrants }, grants);
}

function withGrants(session: Session, sessionGrants: Session["connection"]["sessionGrants"]) {
  return { ...session, connection: { ...session.connection, sessionGrants } };
}

/** A gate has answered for people. */
export function decided(session: Session, { data, childId }: SessionEvent<"permission_decided">) {
  const { requestId, toolCall, keys = [], covers = [], allowed } = data;
  const all = [...keys, ...covers];
  const permit = { requestId, toolCallId: idOf(toolCall), keys: all, allowed };
  return answered(asked(session, childId), permit, childId);
}

/**
 * People have answered. What the server asked itself, it does itself: only a refusal is kept. An
 * ask that ended otherwise, as by a timeout, was not refused, and may be made again.
 */
function withAnswer(session: Session, ask: Ask, outcome: AskOutcome): Session {
  const { requestId, kind, toolCall, options, access } = ask;
  const keys = [...ask.keys, ...(ask.covers ?? [])];
  const allowed = allows(options, outcome);
  if (kind !== "permission" || (access !== undefined && allowed)) return session;
  return answered(session, { requestId, toolCallId: idOf(toolCall), keys, allowed }, ask.childId);
}

function answered(session: Session, permit: Permit, childId: ChildId | undefined): Session {
  const { running, connection } = session;
  const isOver = connection.turn.completedToolIds.has(permit.toolCallId ?? "");
  if (running === null || (permit.allowed && isOver)) return session;
  return withPermits(session, childId, withPermit(permitsOf(session, childId), permit));
}

/** What was answered to the session's own agent, or to one of its children. */
export function permitsOf(session: Session, childId: ChildId | undefined): readonly Permit[] {
  if (childId === undefined) return session.running?.permits ?? [];
  return session.connection.turn.children.get(childId)?.permits ?? [];
}

export function accessed(
  before: Session,
  { data, childId }: SessionEvent<"agent_access">,
): Session {
  const { access, allowed, answeredBy } = data;
  const session = asked(before, childId);
  const { running, chosen } = session;
  if (running === null || answeredBy === undefined || !allowed) return session;
  const permits = permitsOf(session, childId);
  const left = withoutUse(permits, answeredBy, access, chosen.currentCwd);
  return withPermits(session, childId, left);
}

/** A tool call that has ended may do nothing more. */
export function withToolNews(session: Session, { toolCallId, status }: ToolCallNews): Session {
  const { running } = session;
  if (running === null || status === "open") return session;
  const left = withoutEnded(running.permits, toolCallId);
  return left === running.permits ? session : withPermits(session, undefined, left);
}

function withPermits(
  session: Session,
  childId: ChildId | undefined,
  permits: readonly Permit[],
): Session {
  if (childId !== undefined) return withChild(session, childId, { permits });
  const { running } = session;
  return running === null ? session : { ...session, running: { ...running, permits } };
}

function idOf(toolCall: Ask["toolCall"]): string | null {
  return stringAt(toolCall, "toolCallId");
}

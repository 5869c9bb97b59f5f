import { ASKS_RESOLVED_MAX, GRANTS_MAX } from "../../limits.ts";
import type { Ask } from "../../policy/ask.ts";
import { withoutVoters } from "../../policy/mediation.ts";
import { GRANT_RULES } from "../ask-event.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session } from "../state.ts";
import { withAnswer } from "./access.ts";
import { boundTo } from "./binding.ts";

export function made(session: Session, { data }: SessionEvent<"permission_request">): Session {
  const { sessionId: _, deadlineAtMs, ...rest } = data;
  return withAsk(session, { ...rest, deadlineAtMs: deadlineAtMs ?? null, votes: new Map() });
}

export function voted(
  session: Session,
  { data }: SessionEvent<"permission_partial_vote">,
): Session {
  const ask = session.connection.turn.openAsks.get(data.requestId);
  if (ask === undefined) return session;
  const votes = new Map(ask.votes).set(data.voter, data.optionId);
  return withAsk(boundTo(session, data.voterClientId, data.voterUserId), { ...ask, votes });
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

export function resolved(session: Session, { data }: SessionEvent<"permission_resolved">): Session {
  const openAsks = new Map(session.connection.turn.openAsks);
  const ask = openAsks.get(data.requestId);
  openAsks.delete(data.requestId);
  const kept = [...session.resolvedAsks].slice(1 - ASKS_RESOLVED_MAX);
  const resolvedAsks = new Map([...kept, [data.requestId, data.outcome]]);
  const bound = boundTo(session, data.voterClientId, data.voterUserId);
  const isVoted = ask !== undefined && data.reason === "vote";
  const answered = isVoted ? withAnswer(bound, ask, data.outcome) : bound;
  return inTurn({ ...answered, resolvedAsks }, { openAsks });
}

export function granted(session: Session, { data }: SessionEvent<"session_grant_added">): Session {
  if (data.rules !== GRANT_RULES) {
    return { ...session, voidGrants: [...session.voidGrants, data.key].slice(-GRANTS_MAX) };
  }
  const grants = new Map(session.connection.sessionGrants).set(data.key, data.tier);
  return withGrants(session, grants);
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

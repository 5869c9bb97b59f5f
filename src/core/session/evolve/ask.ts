import { stringAt } from "../../json.ts";
import { ASKS_RESOLVED_MAX, GRANTS_MAX } from "../../limits.ts";
import type { Ask, AskKind } from "../../policy/ask.ts";
import { withoutVoters } from "../../policy/mediation.ts";
import type { DeferredInteractiveMessage, TurnState } from "../../turn.ts";
import { GRANT_RULES } from "../ask-event.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session } from "../state.ts";
import { withAnswer } from "./access.ts";
import { boundTo } from "./binding.ts";

export function made(session: Session, { data }: SessionEvent<"permission_request">): Session {
  const { sessionId: _, deadlineAtMs, ...rest } = data;
  const ask: Ask = { ...rest, deadlineAtMs: deadlineAtMs ?? null, votes: new Map() };
  const open = new Map(openAsks(session)).set(ask.requestId, ask);
  return withOpenAsks(session, open);
}

export function voted(
  session: Session,
  { data }: SessionEvent<"permission_partial_vote">,
): Session {
  const ask = openAsks(session).get(data.requestId);
  if (ask === undefined) return session;
  const votes = new Map(ask.votes).set(data.voter, data.optionId);
  const bound = boundTo(session, data.voterClientId, data.voterUserId);
  return withOpenAsks(bound, new Map(openAsks(session)).set(ask.requestId, { ...ask, votes }));
}

export function voterLeft(
  session: Session,
  { data }: SessionEvent<"permission_voter_left">,
): Session {
  const ask = openAsks(session).get(data.requestId);
  if (ask === undefined) return session;
  const less = withoutVoters(ask, data.left, data.quorum);
  return withOpenAsks(session, new Map(openAsks(session)).set(ask.requestId, less));
}

export function resolved(session: Session, { data }: SessionEvent<"permission_resolved">): Session {
  const open = new Map(openAsks(session));
  open.delete(data.requestId);
  const kept = [...session.resolvedAsks].slice(1 - ASKS_RESOLVED_MAX);
  const resolvedAsks = new Map([...kept, [data.requestId, data.outcome]]);
  const bound = boundTo(session, data.voterClientId, data.voterUserId);
  const ask = openAsks(session).get(data.requestId);
  const isVoted = ask !== undefined && data.reason === "vote";
  const answered = isVoted ? withAnswer(bound, ask, data.outcome) : bound;
  return withOpenAsks({ ...answered, resolvedAsks }, open);
}

function openAsks(session: Session): DeferredInteractiveMessage {
  return session.connection.turn.deferredInteractiveMessage ?? new Map();
}

function withOpenAsks(session: Session, open: DeferredInteractiveMessage): Session {
  const asks = [...open.values()];
  return inTurn(session, {
    deferredInteractiveMessage: open.size === 0 ? null : open,
    pendingApproval: asks.some(({ kind }) => kind === PERMISSION),
    pendingGitHubAction: asks.map(gitHubAction).find((action) => action !== null) ?? null,
  });
}

const PERMISSION: AskKind = "permission";
const GITHUB_TOOL = /\bgithub\b|^gh /i;

function gitHubAction({ requestId, toolCall }: Ask): TurnState["pendingGitHubAction"] {
  const title = stringAt(toolCall, "title") ?? "";
  return GITHUB_TOOL.test(title) ? { requestId, title } : null;
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

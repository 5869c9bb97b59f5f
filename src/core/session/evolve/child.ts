import { type AgentUpdate, type ToolCallNews, toolCallNews } from "../../agent-update.ts";
import type { ChildId } from "../../id.ts";
import {
  AGENT_NAME_CHARS_MAX,
  CHILDREN_REMEMBERED_MAX,
  TOOL_CALLS_TRACKED_MAX,
} from "../../limits.ts";
import { withoutEnded } from "../../policy/access.ts";
import { addCounts, costMicro, NO_TOKENS } from "../../price.ts";
import type { Child } from "../../turn.ts";
import { mergedUsage, spentMicro, turnMicro } from "../../turn-cost.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session } from "../state.ts";

/** It takes along what its parent is set to now, and keeps that. */
export function started(session: Session, event: SessionEvent<"child_session_started">): Session {
  if (session.running === null) return session;
  const { childId, callId, title, agent, model, readOnly, price, deadlineAtMs } = event.data;
  const { connection, chosen } = session;
  const { autonomyProfile, sessionGrants } = connection;
  const child: Child = {
    childId,
    callId,
    title,
    agent,
    model,
    startedAtMs: event._meta.serverTimestamp,
    deadlineAtMs,
    rules: {
      autonomyProfile,
      isPlanning: chosen.approvalMode === "plan",
      grants: new Set(sessionGrants.keys()),
      readOnly,
    },
    permits: [],
    openCalls: new Set(),
    hasWorked: false,
    price,
    usage: null,
    spentMicro: costMicro(price, NO_TOKENS),
    ended: null,
  };
  const children = new Map(connection.turn.children).set(childId, child);
  return withSpending(inTurn(session, { children }));
}

export function usageReported(
  session: Session,
  { data }: SessionEvent<"child_usage_reported">,
): Session {
  const child = session.connection.turn.children.get(data.childId);
  if (child === undefined) return session;
  const usage = mergedUsage(child.usage, data.usage);
  const spent = spentMicro(child.price, usage);
  return withSpending(withChild(session, child.childId, { usage, spentMicro: spent }));
}

/**
 * It stays among the children of its turn, for what its call is answered again. One that had not
 * begun at its agent costs nothing any more.
 */
export function ended(session: Session, event: SessionEvent<"child_session_ended">): Session {
  const { childId, state } = event.data;
  const child = session.connection.turn.children.get(childId);
  const { running } = session;
  if (child === undefined || running === null) return session;
  const { title, agent, model, startedAtMs } = child;
  const about = { childId, promptId: running.promptId, title, agent, model, startedAtMs };
  const past = { ...about, endedAtMs: event._meta.serverTimestamp, state };
  const pastChildren = [...(session.pastChildren ?? []), past].slice(-CHILDREN_REMEMBERED_MAX);
  const spentMicro = event.data.usage.costMicro;
  const over = { ended: state, permits: [], openCalls: new Set<string>(), spentMicro };
  return withSpending(withChild({ ...session, pastChildren }, childId, over));
}

/** The session with one of its children changed. */
export function withChild(session: Session, childId: ChildId, change: Partial<Child>): Session {
  const { children } = session.connection.turn;
  const child = children.get(childId);
  if (child === undefined) return session;
  return inTurn(session, { children: new Map(children).set(childId, { ...child, ...change }) });
}

/** What a turn has spent is what its agent and its children have. */
function withSpending(session: Session): Session {
  const { turn } = session.connection;
  const open = turn.currentReservation;
  if (open === null) return session;
  const spent = turnMicro(turn);
  if (spent === open.spentMicro) return session;
  return inTurn(session, { currentReservation: { ...open, spentMicro: spent } });
}

/** Words and calls of a child change nothing of its parent's own turn. */
export function worked(session: Session, childId: ChildId, update: AgentUpdate): Session {
  const child = session.connection.turn.children.get(childId);
  if (child === undefined) return session;
  const news = toolCallNews(update);
  const calls = news === null ? null : callsAfter(child, news);
  if (calls === null && child.hasWorked) return session;
  return withChild(session, childId, { ...calls, hasWorked: true });
}

/** To ask for something is work, too. */
export function asked(session: Session, childId: ChildId | undefined): Session {
  if (childId === undefined) return session;
  const child = session.connection.turn.children.get(childId);
  if (child === undefined || child.hasWorked) return session;
  return withChild(session, childId, { hasWorked: true });
}

function callsAfter(child: Child, { toolCallId, status }: ToolCallNews): Partial<Child> | null {
  const isOpen = status === "open";
  if (toolCallId.length > AGENT_NAME_CHARS_MAX || child.openCalls.has(toolCallId) === isOpen) {
    return null;
  }
  if (isOpen && child.openCalls.size >= TOOL_CALLS_TRACKED_MAX) return null;
  const openCalls = new Set(child.openCalls);
  if (!isOpen) {
    openCalls.delete(toolCallId);
    return { openCalls, permits: withoutEnded(child.permits, toolCallId) };
  }
  openCalls.add(toolCallId);
  return { openCalls, calls: addCounts(child.calls ?? 0, 1) };
}

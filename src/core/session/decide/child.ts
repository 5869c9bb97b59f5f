import { type Refusal, refusal } from "../../error.ts";
import type { ChildId } from "../../id.ts";
import {
  AGENT_NAME_CHARS_MAX,
  CHILD_MS_MAX,
  CHILD_TASK_CHARS_MAX,
  CHILD_TITLE_CHARS_MAX,
  CHILD_TOKENS_MAX,
  CHILDREN_OPEN_MAX,
  CHILDREN_PER_TURN_MAX,
} from "../../limits.ts";
import { CANCELLED } from "../../policy/ask.ts";
import { isCount, isPrice, isTokenUsage, NO_TOKENS } from "../../price.ts";
import { cutText } from "../../text.ts";
import type { Child } from "../../turn.ts";
import {
  type ChildErrorCode,
  type ChildOutcome,
  childFailure,
  childText,
  childUpdate,
  isOpen,
  openChildren,
  sumOfTokens,
} from "../child.ts";
import type { Command } from "../command.ts";
import { type Decision, Draft, refused, unchanged } from "../draft.ts";
import type { Stamp } from "../event.ts";
import type { Session } from "../state.ts";
import { invalidAmount } from "./amount.ts";
import { resumeIfAnswered } from "./open-asks.ts";

/** The stamp of what a child of the running turn does. */
function childStamp({ running }: Session, childId: ChildId): Stamp {
  return { ...running?.stamp, childId };
}

/** The child at work that a command is about; null if it has ended, or never was. */
export function childAtWork({ connection }: Session, childId: ChildId): Child | null {
  const child = connection.turn.children.get(childId);
  return child !== undefined && isOpen(child) ? child : null;
}

/** Begins a child of the running turn. A repeat of its call begins no other. */
export function start(session: Session, command: Command<"start_child">): Decision {
  const { children } = session.connection.turn;
  const isRepeat = [...children.values()].some(({ callId }) => callId === command.child.callId);
  if (isRepeat) return unchanged(session);
  const why = startRefusal(session, command);
  if (why !== null) return refused(session, why);
  const { child, atMs } = command;
  const draft = new Draft(session, command);
  const data = {
    ...child,
    title: cutText(child.title, CHILD_TITLE_CHARS_MAX),
    model: child.model === null ? null : cutText(child.model, AGENT_NAME_CHARS_MAX),
    // Its parent's agent is in a mode in which it changes nothing; that of a child may have none.
    readOnly: child.readOnly || session.chosen.approvalMode === "plan",
    deadlineAtMs: Math.min(child.deadlineAtMs, atMs + CHILD_MS_MAX),
  };
  draft.emit("child_session_started", data, childStamp(session, child.childId));
  return draft.accept();
}

function startRefusal(session: Session, command: Command<"start_child">): Refusal | null {
  const { running, connection } = session;
  const { child, openMax, perTurnMax } = command;
  const { children } = connection.turn;
  if (running === null || running.stopCause !== null) return refusal("turn_not_open");
  if (children.has(child.childId)) return refusal("child_not_open", { childId: child.childId });
  const hasTask = child.task.trim() !== "" && child.task.length <= CHILD_TASK_CHARS_MAX;
  if (!hasTask) return refusal("invalid_task", { limit: CHILD_TASK_CHARS_MAX });
  if (child.price !== null && !isPrice(child.price)) return invalidAmount();
  const limit = Math.min(openMax, CHILDREN_OPEN_MAX);
  if (openChildren(connection.turn).length >= limit) {
    return refusal("child_limit_exceeded", { limit, scope: "session at the same time" });
  }
  const inAll = Math.min(perTurnMax, CHILDREN_PER_TURN_MAX);
  if (children.size < inAll) return null;
  return refusal("child_limit_exceeded", { limit: inAll, scope: "turn" });
}

/** What a child says and does. Late words of one that has ended are dropped. */
export function update(session: Session, command: Command<"child_update">): Decision {
  const { childId } = command;
  if (childAtWork(session, childId) === null) return unchanged(session);
  if (session.running?.stopCause === "turn_too_large") return unchanged(session);
  const told = childUpdate(childId, command.update);
  if (told === null) return unchanged(session);
  const draft = new Draft(session, command);
  draft.emit("session_update", { update: told }, childStamp(session, childId));
  return draft.accept();
}

/** Figures of a child count as long as its turn has no verdict, also after its own end (P9). */
export function usage(session: Session, command: Command<"child_usage">): Decision {
  const { childId, usage: told } = command;
  if (!session.connection.turn.children.has(childId)) {
    return refused(session, refusal("turn_not_open"));
  }
  const { tokens, used, size, costMicro } = told;
  const counts = [used ?? 0, size ?? 0, costMicro ?? 0];
  if (!isTokenUsage(tokens) || !counts.every((count) => isCount(count))) {
    return refused(session, invalidAmount());
  }
  const draft = new Draft(session, command);
  const stamp = childStamp(session, childId);
  draft.emit("child_usage_reported", { childId, usage: told }, stamp);
  const child = childAtWork(draft.session, childId);
  const sum = sumOfTokens(child?.usage?.tokens ?? NO_TOKENS);
  if (child !== null && sum > Math.min(command.tokensMax, CHILD_TOKENS_MAX)) {
    endChild(draft, child, childFailure("tokens_exceeded"));
  }
  return draft.accept();
}

/** The agent of a child is done, or cannot go on. After its end nothing more comes of it. */
export function ended(session: Session, command: Command<"child_ended">): Decision {
  const child = childAtWork(session, command.childId);
  if (child === null) {
    return refused(session, refusal("child_not_open", { childId: command.childId }));
  }
  const draft = new Draft(session, command);
  endChild(draft, child, command.outcome);
  return draft.accept();
}

/** A child that takes too long ends; one that has ended is not looked at any more. */
export function timePassed(draft: Draft, childId: ChildId) {
  const child = childAtWork(draft.session, childId);
  if (child !== null) endChild(draft, child, childFailure("time_exceeded"));
}

/** The one way in which a child ends: its asks and calls first, then what it comes to. */
export function endChild(draft: Draft, { childId }: Child, outcome: ChildOutcome) {
  const child = childAtWork(draft.session, childId);
  if (child === null) return;
  const stamp = childStamp(draft.session, childId);
  for (const ask of draft.session.connection.turn.openAsks.values()) {
    if (ask.childId !== childId) continue;
    const resolved = {
      requestId: ask.requestId,
      outcome: CANCELLED,
      reason: "child_ended",
    } as const;
    draft.emit("permission_resolved", resolved, stamp);
  }
  for (const toolCallId of child.openCalls) {
    const _meta = { source: "turn-end", cancelled: true, parentToolCallId: childId };
    const update = { sessionUpdate: "tool_call_update", toolCallId, status: "failed", _meta };
    draft.emit("session_update", { update }, stamp);
  }
  const { usage: told } = child;
  const costMicro = hasNotBegun(child, outcome) ? 0 : child.spentMicro;
  const used = { model: told?.model ?? child.model, tokens: told?.tokens ?? NO_TOKENS, costMicro };
  const { state, text, error } = outcome;
  const data = { childId, state, text: childText(text), ...(error && { error }), usage: used };
  draft.emit("child_session_ended", data, stamp);
  resumeIfAnswered(draft);
}

/**
 * Whether its agent has shown nothing of it: no word, no call, no ask, no figure and no end of its
 * own. Then it has cost nothing, also where that agent has a price per turn.
 */
function hasNotBegun({ hasWorked, usage: told }: Child, { state, error }: ChildOutcome): boolean {
  const isDone = state === "Closed" || error?.code === STOPPED_SHORT;
  return !hasWorked && told === null && !isDone;
}

const STOPPED_SHORT: ChildErrorCode = "stopped_short";

/** All children of the turn, in the order in which they began. */
export function endChildren(draft: Draft, code: ChildErrorCode) {
  for (const child of openChildren(draft.session.connection.turn)) {
    endChild(draft, child, childFailure(code));
  }
}

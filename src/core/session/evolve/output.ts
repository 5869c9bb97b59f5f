import {
  type AgentUpdate,
  chunkText,
  type ToolCallNews,
  toolCallNews,
} from "../../agent-update.ts";
import {
  AGENT_NAME_CHARS_MAX,
  MESSAGE_ID_STACK_MAX,
  TOOL_CALLS_TRACKED_MAX,
} from "../../limits.ts";
import { cutText } from "../../text.ts";
import type { ConnectionState, TurnState } from "../../turn.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session } from "../state.ts";
import { withToolNews } from "./access.ts";

/**
 * The hot path: a chunk costs the same at the start and at the end of a long turn. Text is joined
 * by reference, and no map or list is copied unless a tool call begins or ends. Outside a turn an
 * update is only recorded: it belongs to no turn's state.
 */
export function updated(session: Session, event: SessionEvent<"session_update">): Session {
  if (session.running === null) return session;
  const { update } = event.data;
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return withMessageId(spoken(session, update), update);
    case "agent_thought_chunk":
      return inTurn(session, thought(session.connection.turn, update));
    case "tool_call":
    case "tool_call_update":
      return toolCalled(session, update, event._meta.serverTimestamp);
    case "user_message_chunk":
    case "shell_output":
      return session; // What people say does not mean that the agent has answered.
    default:
      return session.connection.turn.acked ? session : inTurn(session, { acked: true });
  }
}

/** Spelt out where `inTurn` would do, because this is the line that a long turn consists of. */
function spoken(session: Session, update: AgentUpdate): Session {
  const { connection } = session;
  const fullContent = connection.turn.fullContent + (chunkText(update) ?? "");
  const turn = { ...connection.turn, fullContent, isThinking: false, acked: true };
  return { ...session, connection: { ...connection, turn } };
}

function thought(turn: TurnState, update: AgentUpdate): Partial<TurnState> {
  const thinkingContent = turn.thinkingContent + (chunkText(update) ?? "");
  return { thinkingContent, isThinking: true, acked: true };
}

function withMessageId(session: Session, update: AgentUpdate): Session {
  const id = update.messageId;
  const { messageIdStack } = session.connection;
  if (typeof id !== "string" || messageIdStack.at(-1) === id) return session;
  if (id.length > AGENT_NAME_CHARS_MAX) return session;
  const known = messageIdStack.indexOf(id);
  const stack = known < 0 ? [...messageIdStack, id] : messageIdStack.slice(0, known + 1);
  const connection = {
    ...session.connection,
    messageIdStack: stack.slice(-MESSAGE_ID_STACK_MAX),
  };
  return { ...session, connection };
}

function toolCalled(session: Session, update: AgentUpdate, atMs: number): Session {
  const news = toolCallNews(update);
  return news === null ? session : tracked(withToolNews(session, news), news, atMs);
}

function tracked(session: Session, news: ToolCallNews, atMs: number): Session {
  const { turn } = session.connection;
  if (news.toolCallId.length > AGENT_NAME_CHARS_MAX) return session;
  const { toolCallId, toolName, status } = news;
  const begun = turn.persistedToolCallIds.has(toolCallId);
  const ended = turn.completedToolIds.has(toolCallId);
  if (begun && (ended || status === "open")) return withActivity(inTurn(session, TOUCHED), atMs);
  if (turn.persistedToolCallIds.size >= TOOL_CALLS_TRACKED_MAX && !begun) {
    return withActivity(session, atMs);
  }
  const pending = new Map(turn.pendingToolCalls);
  if (status === "open") {
    pending.set(toolCallId, {
      toolName: cutText(toolName ?? "tool", AGENT_NAME_CHARS_MAX),
      startedAt: atMs,
    });
  } else pending.delete(toolCallId);
  const next = inTurn(session, {
    ...TOUCHED,
    pendingToolCalls: pending,
    completedToolIds:
      status === "open" ? turn.completedToolIds : add(turn.completedToolIds, toolCallId),
    persistedToolCallIds: begun
      ? turn.persistedToolCallIds
      : add(turn.persistedToolCallIds, toolCallId),
  });
  return withActivity(counted(next, begun, status === "failed"), atMs);
}

const TOUCHED = { isThinking: false, acked: true };

function add(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  return new Set(ids).add(id);
}

function counted(session: Session, known: boolean, failed: boolean): Session {
  const { totals } = session;
  const toolCalls = totals.toolCalls + (known ? 0 : 1);
  const toolFailures = totals.toolFailures + (failed ? 1 : 0);
  return { ...session, totals: { ...totals, toolCalls, toolFailures } };
}

/** A tool at work is what keeps a sandbox alive. */
function withActivity(session: Session, atMs: number): Session {
  const { connection } = session;
  if (connection.sandboxState !== "ready") return session;
  const active: ConnectionState = { ...connection, lastSandboxActivity: atMs };
  return { ...session, connection: active };
}

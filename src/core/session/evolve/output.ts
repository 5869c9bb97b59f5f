import {
  type AgentUpdate,
  chunkText,
  type ToolCallNews,
  toolCallNews,
} from "../../agent-update.ts";
import { AGENT_NAME_CHARS_MAX, MODELS_COUNTED_MAX, TOOL_CALLS_TRACKED_MAX } from "../../limits.ts";
import { addCounts, addTokens, costMicro, NO_TOKENS } from "../../price.ts";
import { cutText } from "../../text.ts";
import type { ContextUsage, CreditReservation } from "../../turn.ts";
import { mergedUsage, turnMicro } from "../../turn-cost.ts";
import type { SessionEvent } from "../event.ts";
import { inTurn, type Session, type Totals } from "../state.ts";
import { withToolNews } from "./ask.ts";
import { worked } from "./child.ts";

/**
 * The hot path: after its first text, a chunk changes nothing of the state, and no map or list is
 * copied unless a tool call begins or ends. An update outside a turn is only recorded.
 */
export function updated(session: Session, event: SessionEvent<"session_update">): Session {
  if (session.running === null) return session;
  const { update } = event.data;
  if (event.childId !== undefined) return worked(session, event.childId, update);
  switch (update.sessionUpdate) {
    case "agent_message_chunk": {
      const isFirst = !session.connection.turn.hasOutput && Boolean(chunkText(update));
      return isFirst ? inTurn(session, { hasOutput: true }) : session;
    }
    case "agent_thought_chunk":
    case "plan":
      return session.connection.turn.hasThought ? session : inTurn(session, { hasThought: true });
    case "tool_call":
    case "tool_call_update":
      return toolCalled(session, update, event._meta.serverTimestamp);
    default:
      return session;
  }
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
  if (begun && (ended || status === "open")) return withActivity(session, atMs);
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
    pendingToolCalls: pending,
    completedToolIds:
      status === "open" ? turn.completedToolIds : add(turn.completedToolIds, toolCallId),
    persistedToolCallIds: begun
      ? turn.persistedToolCallIds
      : add(turn.persistedToolCallIds, toolCallId),
  });
  return withActivity(counted(next, begun, status === "failed"), atMs);
}

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
  return { ...session, connection: { ...connection, lastSandboxActivity: atMs } };
}

/** The first slice opens the turn's reservation, each further one adds to it. */
export function reserved(session: Session, { data }: SessionEvent<"credits_reserved">): Session {
  const { turnId, amountMicro, price, model } = data;
  const open = session.connection.turn.currentReservation;
  const currentReservation: CreditReservation =
    open === null
      ? {
          turnId,
          reservedMicro: amountMicro,
          slices: 1,
          price,
          spentMicro: costMicro(price, NO_TOKENS),
          estimateMicro: amountMicro,
          ...(model !== undefined && { model }),
        }
      : { ...open, reservedMicro: open.reservedMicro + amountMicro, slices: open.slices + 1 };
  return inTurn(session, { currentReservation });
}

/** What an agent reports covers its whole turn so far; a smaller report takes nothing back. */
export function usageReported(session: Session, { data }: SessionEvent<"usage_reported">): Session {
  const open = session.connection.turn.currentReservation;
  if (open === null || open.turnId !== data.turnId) return session;
  const lastContextUsage = mergedUsage(session.connection.turn.lastContextUsage, data.usage);
  const { price = open.price } = data;
  const { turn } = session.connection;
  const spent = turnMicro({ ...turn, lastContextUsage, currentReservation: { ...open, price } });
  const currentReservation = { ...open, price, spentMicro: spent };
  return inTurn(session, { lastContextUsage, currentReservation });
}

export function settled(session: Session, { data }: SessionEvent<"credits_settled">): Session {
  const usage = session.connection.turn.lastContextUsage;
  const charged = addCounts(session.totals.chargedMicro, data.chargedMicro);
  const own = usage === null ? session.totals : withUsage(session.totals, usage);
  const { children } = session.connection.turn;
  const told = [...children.values()].flatMap((child) => child.usage ?? []);
  const totals = { ...told.reduce(withUsage, own), chargedMicro: charged };
  return inTurn({ ...session, totals }, { currentReservation: null });
}

function withUsage(totals: Totals, usage: ContextUsage): Totals {
  const { tokensByModel } = totals;
  const named = cutText(usage.model ?? "unknown", AGENT_NAME_CHARS_MAX);
  const full = tokensByModel.size >= MODELS_COUNTED_MAX && !tokensByModel.has(named);
  const model = full ? "other" : named;
  const tokens = addTokens(tokensByModel.get(model) ?? NO_TOKENS, usage.tokens);
  return { ...totals, tokensByModel: new Map(tokensByModel).set(model, tokens) };
}

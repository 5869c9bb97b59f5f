import type { AgentUpdate, ToolCallNews } from "../../agent-update.ts";
import { stringAt } from "../../json.ts";
import { allows, type Permit, withoutEnded, withoutUse, withPermit } from "../../policy/access.ts";
import { approvalKeys } from "../../policy/approval-key.ts";
import type { Ask, AskOutcome } from "../../policy/ask.ts";
import type { SessionEvent } from "../event.ts";
import type { Session } from "../state.ts";

/** A gate has answered for people. */
export function askDecided(session: Session, { data }: SessionEvent<"permission_decided">) {
  const { requestId, toolCall, keys = [], covers = [], allowed } = data;
  const all = [...keys, ...covers];
  return answered(session, { requestId, toolCallId: idOf(toolCall), keys: all, allowed });
}

/** An ask has ended. What the server asked itself, it does itself: only a refusal is kept. */
export function withAnswer(session: Session, ask: Ask, outcome: AskOutcome): Session {
  const { requestId, kind, toolCall, options, access } = ask;
  const keys = [...ask.keys, ...(ask.covers ?? [])];
  const allowed = allows(options, outcome);
  if (kind !== "permission" || (access !== undefined && allowed)) return session;
  return answered(session, { requestId, toolCallId: idOf(toolCall), keys, allowed });
}

function answered(session: Session, permit: Permit): Session {
  const { running, connection } = session;
  const isOver = connection.turn.completedToolIds.has(permit.toolCallId ?? "");
  if (running === null || (permit.allowed && isOver)) return session;
  return withPermits(session, withPermit(running.permits, permit));
}

export function happened(session: Session, { data }: SessionEvent<"agent_access">): Session {
  const { access, allowed, answeredBy } = data;
  const { running, chosen } = session;
  if (running === null || answeredBy === undefined || !allowed) return session;
  const left = withoutUse(running.permits, answeredBy, access, chosen.currentCwd);
  return withPermits(session, left);
}

/**
 * What a tool call says after it was allowed. A call that did not say what it does was allowed
 * once, so what it says first is what it may do; and one that has ended may do nothing more.
 */
export function withToolNews(session: Session, update: AgentUpdate, news: ToolCallNews): Session {
  const permits = session.running?.permits ?? [];
  if (!permits.some(({ toolCallId }) => toolCallId === news.toolCallId)) return session;
  if (news.status !== "open") return withPermits(session, withoutEnded(permits, news.toolCallId));
  const isUntold = ({ toolCallId, allowed, keys }: Permit) => {
    return toolCallId === news.toolCallId && allowed && keys.length === 0;
  };
  if (!permits.some(isUntold)) return session;
  const keys = approvalKeys(update, session.chosen.currentCwd);
  return withPermits(
    session,
    permits.map((permit) => (isUntold(permit) ? { ...permit, keys } : permit)),
  );
}

function withPermits(session: Session, permits: readonly Permit[]): Session {
  const { running } = session;
  return running === null ? session : { ...session, running: { ...running, permits } };
}

function idOf(toolCall: Ask["toolCall"]): string | null {
  return stringAt(toolCall, "toolCallId");
}

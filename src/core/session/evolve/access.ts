import type { ToolCallNews } from "../../agent-update.ts";
import { stringAt } from "../../json.ts";
import { allows, type Permit, withoutEnded, withoutUse, withPermit } from "../../policy/access.ts";
import type { Ask, AskOutcome } from "../../policy/ask.ts";
import type { SessionEvent } from "../event.ts";
import type { Session } from "../state.ts";

/** A gate has answered for people. */
export function askDecided(session: Session, { data }: SessionEvent<"permission_decided">) {
  const { requestId, toolCall, keys = [], covers = [], allowed } = data;
  const all = [...keys, ...covers];
  return answered(session, { requestId, toolCallId: idOf(toolCall), keys: all, allowed });
}

/**
 * People have answered. What the server asked itself, it does itself: only a refusal is kept. An
 * ask that ended otherwise, as by a timeout, was refused by nobody, and may be made again.
 */
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

/** A tool call that has ended may do nothing more. */
export function withToolNews(session: Session, { toolCallId, status }: ToolCallNews): Session {
  const { running } = session;
  if (running === null || status === "open") return session;
  const left = withoutEnded(running.permits, toolCallId);
  return left === running.permits ? session : withPermits(session, left);
}

function withPermits(session: Session, permits: readonly Permit[]): Session {
  const { running } = session;
  return running === null ? session : { ...session, running: { ...running, permits } };
}

function idOf(toolCall: Ask["toolCall"]): string | null {
  return stringAt(toolCall, "toolCallId");
}

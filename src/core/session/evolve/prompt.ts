import type { PromptId } from "../../id.ts";
import { IDEMPOTENCY_AGE_MS_MAX, IDEMPOTENCY_KEYS_MAX } from "../../limits.ts";
import type { SessionEvent } from "../event.ts";
import { type Admission, inTurn, type RunningPrompt, type Session, type Totals } from "../state.ts";

export function admitted(session: Session, event: SessionEvent<"prompt_admitted">): Session {
  const { promptId, text, content, clientId, userId, deadlineAtMs, ...rest } = event.data;
  const { admittedAtMs, idempotency } = rest;
  const prompt = {
    promptId,
    text,
    content,
    clientId: clientId ?? null,
    userId: userId ?? null,
    deadlineAtMs: deadlineAtMs ?? null,
    admittedAtMs,
    waited: false,
  };
  const admission = { promptId, hash: idempotency?.hash ?? "", atMs: admittedAtMs };
  return {
    ...session,
    queue: [...session.queue, prompt],
    admissions: idempotency
      ? remember(session.admissions, idempotency.key, admission)
      : session.admissions,
    totals: { ...session.totals, promptCount: session.totals.promptCount + 1 },
  };
}

/** Keeps the newest keys that are young enough; the map is in order of arrival. */
function remember(known: Session["admissions"], key: string, admission: Admission) {
  const young = [...known].filter(([, { atMs }]) => admission.atMs - atMs < IDEMPOTENCY_AGE_MS_MAX);
  return new Map([...young.slice(1 - IDEMPOTENCY_KEYS_MAX), [key, admission]]);
}

export function waits(session: Session, event: SessionEvent<"pending_prompt_added">): Session {
  const { promptId } = event.data;
  const queue = session.queue.map((prompt) =>
    prompt.promptId === promptId ? { ...prompt, waited: true } : prompt,
  );
  return { ...session, queue };
}

export function steered(session: Session, event: SessionEvent<"mid_turn_message_injected">) {
  const { running } = session;
  if (running === null) return session;
  const steeredIds = [...running.steeredIds, ...event.data.messageIds];
  return { ...session, running: { ...running, steeredIds } };
}

/** A failed call to the agent is told in the same words, but nobody asked for it to stop. */
export function stopAsked(session: Session, event: SessionEvent<"prompt_cancelled">): Session {
  const { reason = "client" } = event.data;
  const { running } = session;
  if (running === null || running.promptId !== event.promptId) return session;
  if (reason === "forward_failed") return session;
  const stopping: RunningPrompt = { ...running, stopCause: reason };
  return inTurn({ ...session, running: stopping }, { stopRequested: true });
}

export function completed(session: Session, event: SessionEvent<"turn_complete">): Session {
  const { promptId, stopReason } = event.data;
  const wasRunning = session.running?.promptId === promptId;
  const settled = withoutPrompt(session, promptId, event._meta.serverTimestamp);
  if (!wasRunning) return settled;
  const totals = counted(settled.totals, "turnsCompleted");
  return inTurn({ ...settled, totals }, { turnStopped: stopReason === "cancelled" });
}

export function failed(session: Session, event: SessionEvent<"turn_error">): Session {
  const { promptId, code, message } = event.data;
  const settled = withoutPrompt(session, promptId, event._meta.serverTimestamp);
  const totals = counted(settled.totals, "turnsFailed");
  return { ...settled, lastTurnError: { code, message }, totals };
}

/** A verdict ends the prompt, whether it was running or still waiting. */
function withoutPrompt(session: Session, promptId: PromptId, lastVerdictAtMs: number): Session {
  if (session.running?.promptId === promptId) {
    return { ...session, running: null, lastVerdictAtMs };
  }
  const queue = session.queue.filter((prompt) => prompt.promptId !== promptId);
  return { ...session, queue, lastVerdictAtMs };
}

function counted(totals: Totals, figure: "turnsCompleted" | "turnsFailed"): Totals {
  return { ...totals, [figure]: totals[figure] + 1 };
}

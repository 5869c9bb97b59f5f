import { promptText } from "../../agent-update.ts";
import { type Refusal, refusal } from "../../error.ts";
import type { PromptId } from "../../id.ts";
import {
  IDEMPOTENCY_AGE_MS_MAX,
  IDEMPOTENCY_KEY_CHARS_MAX,
  MICRO_CREDITS_MAX,
  PROMPT_PREVIEW_CHARS_MAX,
  PROMPTS_PENDING_MAX,
  STEERED_MESSAGES_MAX,
} from "../../limits.ts";
import { isPrice } from "../../price.ts";
import { type Command, clientOf, type NewPrompt, type TurnStart, userOf } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type CommandResult, stampOf } from "../event.ts";
import { pendingCount, type Session } from "../state.ts";
import { isAmount } from "./output.ts";
import { stopTurn } from "./stop.ts";
import { beginTurn, pronounce, turnError, type Verdict } from "./turn.ts";

/** Takes a prompt in, and puts it to work at once if nothing is before it. */
export function prompt(session: Session, command: Command<"prompt">): Decision {
  const { start } = command;
  if (start !== undefined && !isStart(start)) return invalidStart(session);
  return admit(session, command, command, start);
}

function admit(
  session: Session,
  command: Command,
  prompt: NewPrompt,
  start: TurnStart | undefined,
): Decision {
  const draft = new Draft(session, command);
  const first = firstOf(session, prompt, command.atMs);
  if (first === "other body") return refused(session, refusal("idempotency_conflict"));
  if (first !== null) return draft.accept(first);
  const why = promptRefusal(session, prompt, command.atMs);
  if (why !== null) return refused(session, why);
  const { promptId } = prompt;
  const idle = session.running === null && session.queue.length === 0;
  emitAdmission(draft, prompt, command);
  const admitted = draft.session.queue.at(-1);
  if (admitted === undefined) return draft.accept(promptId);
  if (start !== undefined && idle && draft.state === "ready") beginTurn(draft, admitted, start);
  else {
    const { text, admittedAtMs } = admitted;
    const added = { promptId, text, queuedAt: admittedAtMs };
    draft.emit("pending_prompt_added", added, stampOf(promptId, admitted.clientId));
  }
  return draft.accept(promptId);
}

/** The prompt that this one repeats, or word that its key stands for something else. */
function firstOf(session: Session, { idempotency }: NewPrompt, atMs: number) {
  if (idempotency === null) return null;
  const known = session.admissions.get(idempotency.key);
  if (known === undefined || atMs - known.atMs >= IDEMPOTENCY_AGE_MS_MAX) return null;
  return known.hash === idempotency.hash ? known.promptId : "other body";
}

function promptRefusal(session: Session, prompt: NewPrompt, atMs: number): Refusal | null {
  const { content, deadlineAtMs, idempotency } = prompt;
  const keyChars = idempotency?.key.length ?? 1;
  if (keyChars < 1 || keyChars > IDEMPOTENCY_KEY_CHARS_MAX) {
    return refusal("invalid_idempotency_key", { limit: IDEMPOTENCY_KEY_CHARS_MAX });
  }
  if (content.length === 0) return refusal("invalid_prompt");
  if (deadlineAtMs !== null && !(deadlineAtMs > atMs)) return refusal("invalid_deadline_ms");
  const waiting = pendingCount(session);
  if (waiting < PROMPTS_PENDING_MAX) return null;
  const { sessionId } = session;
  const limit = PROMPTS_PENDING_MAX;
  return refusal("prompt_queue_full", { sessionId, limit, pendingCount: waiting });
}

function emitAdmission(draft: Draft, prompt: NewPrompt, { actor, atMs }: Command) {
  const { promptId, content, deadlineAtMs, idempotency } = prompt;
  const clientId = clientOf(actor);
  const userId = userOf(actor);
  const data = {
    promptId,
    text: promptText(content).slice(0, PROMPT_PREVIEW_CHARS_MAX),
    content,
    admittedAtMs: atMs,
    ...(clientId && { clientId }),
    ...(userId && { userId }),
    ...(deadlineAtMs && { deadlineAtMs }),
    ...(idempotency && { idempotency }),
  };
  draft.emit("prompt_admitted", data, stampOf(promptId, clientId));
}

/** Puts the head of the queue to work, now that its credits are set aside. */
export function begin(session: Session, command: Command<"begin_turn">): Decision {
  const { promptId, start } = command;
  const next = session.queue[0];
  if (next?.promptId !== promptId) return notNext(session, promptId);
  if (!isStart(start)) return invalidStart(session);
  const draft = new Draft(session, command);
  beginTurn(draft, next, start);
  return draft.accept(promptId);
}

function isStart({ reservedMicro, price }: TurnStart): boolean {
  return isAmount(reservedMicro) && (price === null || isPrice(price));
}

function invalidStart(session: Session): Decision {
  return refused(session, refusal("invalid_amount", { limit: MICRO_CREDITS_MAX }));
}

/** Answers a prompt that was a command of ours: it has a verdict, but never was a turn. */
export function answer(session: Session, command: Command<"command_result">): Decision {
  const { promptId, result } = command;
  const next = session.queue[0];
  if (next?.promptId !== promptId) return notNext(session, promptId);
  const draft = new Draft(session, command);
  const stamp = stampOf(promptId, next.clientId);
  draft.emit("command_result", { promptId, ...result }, stamp);
  draft.emit("session_update", { update: spoken(result.message) }, stamp);
  pronounce(draft, next, verdictOf(result));
  return draft.accept(promptId);
}

function spoken(text: string) {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function verdictOf({ code, message }: CommandResult): Verdict {
  if (code !== "unknown_command") return { type: "turn_complete", stopReason: "end_turn" };
  return turnError(code, message || undefined);
}

function notNext(session: Session, promptId: PromptId): Decision {
  return refused(session, refusal("prompt_not_next", { promptId }));
}

/** A waiting prompt is taken back; the running one is cancelled. */
export function remove(session: Session, command: Command<"remove_prompt">): Decision {
  const { promptId } = command;
  const draft = new Draft(session, command);
  const waiting = session.queue.find((prompt) => prompt.promptId === promptId);
  if (waiting !== undefined) {
    pronounce(draft, waiting, { type: "turn_complete", stopReason: "cancelled" });
  } else if (session.running?.promptId === promptId) {
    stopTurn(draft, "client", clientOf(command.actor));
  } else {
    return refused(
      session,
      refusal("prompt_not_found", { sessionId: session.sessionId, promptId }),
    );
  }
  return draft.accept(promptId);
}

/** Says something to the agent while it works, if it can listen; else it waits its turn. */
export function steer(session: Session, command: Command<"steer">): Decision {
  const { messageId, prompt, agentCanSteer } = command;
  const { running } = session;
  if (running === null || running.stopCause !== null || !agentCanSteer) {
    return admit(session, command, prompt, undefined);
  }
  const draft = new Draft(session, command);
  if (running.steeredIds.includes(messageId)) return draft.accept(running.promptId);
  if (prompt.content.length === 0) return refused(session, refusal("invalid_prompt"));
  if (running.steeredIds.length >= STEERED_MESSAGES_MAX) {
    return refused(session, refusal("steer_limit_exceeded", { limit: STEERED_MESSAGES_MAX }));
  }
  const { promptId } = running;
  draft.emit(
    "mid_turn_message_injected",
    {
      messages: [promptText(prompt.content)],
      messageIds: [messageId],
      items: [{ messageId, content: prompt.content }],
    },
    stampOf(promptId, clientOf(command.actor)),
  );
  return draft.accept(promptId);
}

import { promptText } from "../../agent-update.ts";
import { type Refusal, refusal, sentenceOf } from "../../error.ts";
import type { PromptId } from "../../id.ts";
import {
  IDEMPOTENCY_AGE_MS_MAX,
  IDEMPOTENCY_KEY_CHARS_MAX,
  PROMPT_PREVIEW_CHARS_MAX,
  PROMPTS_PENDING_BYTES_MAX,
  PROMPTS_PENDING_MAX,
  STEERED_MESSAGES_MAX,
} from "../../limits.ts";
import { voterOf } from "../../policy/ask.ts";
import { isCount, isPrice } from "../../price.ts";
import { slashTextOf } from "../../slash/commands.ts";
import { cutText, jsonBytes } from "../../text.ts";
import { ADMISSION, conditionOf } from "../admission.ts";
import { boundRefusal } from "../bounded.ts";
import {
  admissionKey,
  type Command,
  type CommandEffect,
  clientOf,
  type Idempotency,
  type NewPrompt,
  originatorOf,
  steeredAs,
  steeredMessage,
  type TurnStart,
  userOf,
} from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type CommandResult, stampOf } from "../event.ts";
import { isSessionName } from "../name.ts";
import {
  atWork,
  type FirstAnswer,
  isMessage,
  messagesToTake,
  pendingCount,
  type Session,
  type WaitingPrompt,
  waitingMessages,
} from "../state.ts";
import { invalidAmount } from "./amount.ts";
import { closed } from "./instance.ts";
import { agentChanged, personaReloaded, skillsReloaded } from "./setting.ts";
import { stopTurn } from "./stop.ts";
import { beginTurn, echoPrompt, pronounce, type TurnVerdict, turnError } from "./turn.ts";
import { attached, attachRefusal, steered } from "./workflow.ts";

/** Takes a prompt in, and puts it to work at once if nothing is before it. */
export function prompt(session: Session, command: Command<"prompt">): Decision {
  const { start, unpaidNow } = command;
  if (start !== undefined && !isStart(start)) return refused(session, invalidAmount());
  const unpaid = command.unpaid ?? (pendingCount(session) === 0 ? unpaidNow : undefined);
  return admit(session, command, command, { start, unpaid });
}

function admit(
  session: Session,
  command: Command,
  prompt: NewPrompt,
  { start, unpaid }: { start?: TurnStart | undefined; unpaid?: Refusal | undefined },
): Decision {
  const { promptId, lastEventId } = prompt;
  const first = firstAnswer(session, command, prompt.idempotency);
  if (first === "conflict") return refused(session, refusal("idempotency_conflict"));
  const draft = new Draft(session, command);
  if (first !== null) return draft.accept(first);
  const why =
    promptRefusal(session, prompt, command.atMs) ??
    boundRefusal(session, command) ??
    unpaid ??
    null;
  if (why !== null) return refused(session, why);
  emitAdmission(draft, prompt, command);
  nameByWords(draft, prompt, command);
  const next = pendingCount(session) === 0 && draft.state === "ready";
  // What a line with a slash means is found out first: it may be no turn at all.
  const isTurn = slashTextOf(prompt.content) === null;
  for (const admitted of draft.session.queue.slice(-1)) {
    if (next && isTurn && start !== undefined) beginTurn(draft, admitted, start);
    else if (!next) announceWaiting(draft, admitted);
  }
  return draft.accept({ promptId, lastEventId });
}

function announceWaiting(draft: Draft, prompt: WaitingPrompt) {
  const { promptId, text, admittedAtMs } = prompt;
  const added = { promptId, text, queuedAt: admittedAtMs };
  draft.emit("pending_prompt_added", added, stampOf(promptId, prompt));
}

/** What a retry was answered the first time, or word that its key stands for something else. */
export function firstAnswer(
  session: Session,
  { actor, atMs }: Command,
  idempotency: Idempotency,
): FirstAnswer | "conflict" | null {
  if (idempotency === null) return null;
  const voter = voterOf(clientOf(actor), userOf(actor));
  const known = session.admissions.get(admissionKey(voter, idempotency.key));
  if (known === undefined || atMs - known.atMs >= IDEMPOTENCY_AGE_MS_MAX) return null;
  return known.hash === idempotency.hash ? known.answer : "conflict";
}

/** Keys are kept, so they are kept short. */
export function keyRefusal(idempotency: Idempotency): Refusal | null {
  const chars = idempotency?.key.length ?? 1;
  if (chars >= 1 && chars <= IDEMPOTENCY_KEY_CHARS_MAX) return null;
  return refusal("invalid_idempotency_key", { limit: IDEMPOTENCY_KEY_CHARS_MAX });
}

function promptRefusal(session: Session, prompt: NewPrompt, atMs: number): Refusal | null {
  const { promptId, content, deadlineAtMs } = prompt;
  const { sessionId, running, queue } = session;
  const badKey = keyRefusal(prompt.idempotency);
  if (badKey !== null) return badKey;
  if (content.length === 0) return refusal("invalid_prompt");
  const future =
    deadlineAtMs === null || (Number.isSafeInteger(deadlineAtMs) && deadlineAtMs > atMs);
  if (!future) return refusal("invalid_deadline_ms");
  const pending = running === null ? queue : [running, ...queue];
  if ([...atWork(session), ...queue].some((other) => other.promptId === promptId)) {
    return refusal("prompt_id_conflict", { sessionId, promptId });
  }
  // The one that runs, or is next to run, is a prompt by now, even if it was a message.
  const pendingCount = pending.filter((other, at) => at === 0 || !isMessage(other)).length;
  const { pendingMax = PROMPTS_PENDING_MAX } = prompt;
  const isCounted = steeredMessage(prompt.idempotency) === null;
  if (isCounted && pendingMax !== null && pendingCount >= pendingMax) {
    return refusal("prompt_queue_full", { sessionId, limit: pendingMax, pendingCount });
  }
  const limit = PROMPTS_PENDING_BYTES_MAX;
  const bytes = [prompt, ...pending].reduce((sum, one) => sum + promptBytes(one), 0);
  return bytes <= limit ? null : refusal("prompts_too_large", { sessionId, limit, bytes });
}

/** What it takes in the session's own slot, which is bounded and must hold all that waits. */
function promptBytes({ content, params }: Pick<NewPrompt, "content" | "params">): number {
  return jsonBytes([content, params]);
}

function emitAdmission(draft: Draft, prompt: NewPrompt, { actor, atMs, bound }: Command) {
  const { promptId, content, deadlineAtMs, idempotency, lastEventId, params, echo } = prompt;
  const clientId = clientOf(actor);
  const userId = userOf(actor);
  const data = {
    promptId,
    text: cutText(promptText(content), PROMPT_PREVIEW_CHARS_MAX),
    content,
    admittedAtMs: atMs,
    lastEventId,
    echo,
    ...(params && { params }),
    ...(clientId && { clientId }),
    ...(userId && { userId }),
    ...(deadlineAtMs && { deadlineAtMs }),
    ...(idempotency && { idempotency }),
    ...(bound && { authority: bound.authority }),
  };
  draft.emit("prompt_admitted", data, stampOf(promptId, { clientId, userId }));
}

/** Once and no more (P7). What was a secret is no name any more (P11). */
function nameByWords(draft: Draft, { promptId, name }: NewPrompt, { actor }: Command) {
  if (name === undefined || draft.session.chosen.name !== undefined || !isSessionName(name)) return;
  const by = stampOf(promptId, { clientId: clientOf(actor), userId: userOf(actor) });
  draft.emit("session_named", { name, source: "auto", from: null }, by);
}

/** Puts the head of the queue to work, now that its credits are set aside. */
export function begin(session: Session, command: Command<"begin_turn">): Decision {
  const { promptId, start } = command;
  const next = session.queue[0];
  if (next?.promptId !== promptId) return notNext(session, promptId);
  if (!isStart(start)) return refused(session, invalidAmount());
  const draft = new Draft(session, command);
  beginTurn(draft, next, start);
  return draft.accept();
}

function isStart({ reservedMicro, price }: TurnStart): boolean {
  return isCount(reservedMicro) && (price === null || isPrice(price));
}

/**
 * Answers a prompt that was a command of ours: it has a verdict, but never was a turn. What the
 * command does is done with it, so that neither is ever there without the other.
 */
export function answer(session: Session, command: Command<"command_result">): Decision {
  const { promptId, result, effect } = command;
  const next = session.queue[0];
  if (next?.promptId !== promptId) return notNext(session, promptId);
  const cell = effect === undefined ? "yes" : ADMISSION[effect.type].cells[conditionOf(session)];
  if (cell !== "yes" && cell !== "skip") return refused(session, refusal(cell));
  const draft = new Draft(session, command);
  const stamp = stampOf(promptId, next);
  echoPrompt(draft, next);
  const why = effect === undefined ? null : take(draft, effect, next);
  if (why !== null) return refused(session, why);
  draft.emit("command_result", { promptId, ...result }, stamp);
  draft.emit("session_update", { update: spoken(result.message) }, stamp);
  pronounce(draft, next, verdictOf(result));
  // The answer comes first: a closed session has no more events.
  if (effect?.type === "close") closed(draft, stamp);
  return draft.accept();
}

/** Null is acceptance. */
function take(draft: Draft, effect: CommandEffect, prompt: WaitingPrompt): Refusal | null {
  const stamp = stampOf(prompt.promptId, prompt);
  if (effect.type === "attach_workflow") {
    const why = attachRefusal(draft.session, effect.workflow);
    if (why === null) attached(draft, effect.workflow, prompt, stamp);
    return why;
  }
  if (effect.type === "steer_workflow") return steered(draft, effect.act, stamp);
  if (effect.type === "reload_skills") skillsReloaded(draft, effect, stamp);
  else if (effect.type === "reload_persona") personaReloaded(draft, effect, stamp);
  else if (effect.type === "change_agent") agentChanged(draft, effect, stamp);
  return null;
}

function spoken(text: string) {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function verdictOf({ code, message }: CommandResult): TurnVerdict {
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
    const removed = { promptId, state: "removed" } as const;
    const stamp = stampOf(promptId, waiting);
    if (waiting.waited) draft.emit("pending_prompt_completed", removed, stamp);
    pronounce(draft, waiting, { type: "turn_complete", stopReason: "cancelled" }, "none");
  } else if (session.running?.promptId === promptId) {
    stopTurn(draft, "client", originatorOf(command.actor));
  } else {
    return refused(
      session,
      refusal("prompt_not_found", { sessionId: session.sessionId, promptId }),
    );
  }
  return draft.accept();
}

/** Ends a prompt that may not run in this session any more, before it is a turn. */
export function refuse(session: Session, command: Command<"refuse_prompt">): Decision {
  const { promptId, why } = command;
  const next = session.queue[0];
  if (next?.promptId !== promptId) return notNext(session, promptId);
  const draft = new Draft(session, command);
  const { code } = why;
  pronounce(draft, next, { type: "turn_error", code, message: sentenceOf(why) });
  return draft.accept();
}

/** Says something to the agent while it works, if it can listen; else it waits its turn. */
export function steer(session: Session, command: Command<"steer">): Decision {
  const { messageId, prompt, agentCanSteer, bound } = command;
  const { running } = session;
  const isCommand = slashTextOf(prompt.content) !== null;
  if (running === null || running.stopCause !== null || !agentCanSteer || isCommand) {
    return letWait(session, command);
  }
  const draft = new Draft(session, command);
  if (running.steeredIds.includes(messageId)) return draft.accept();
  if (prompt.content.length === 0) return refused(session, refusal("invalid_prompt"));
  const forbidden = boundRefusal(session, command);
  if (forbidden !== null) return refused(session, forbidden);
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
      ...(bound && { authority: bound.authority }),
    },
    stampOf(promptId, originatorOf(command.actor)),
  );
  return draft.accept();
}

/**
 * The agent fetches messages that wait for the end of its turn, all of them or none. Each is taken
 * once, and has its verdict with the turn (P2).
 */
export function takeMessages(session: Session, command: Command<"take_messages">): Decision {
  const { running, sessionId } = session;
  const waiting = new Map(messagesToTake(session).map((message) => [message.promptId, message]));
  const draft = new Draft(session, command);
  for (const promptId of command.promptIds) {
    const message = waiting.get(promptId);
    if (running === null || message === undefined) {
      return refused(session, refusal("prompt_not_found", { sessionId, promptId }));
    }
    waiting.delete(promptId);
    const { messageId, content, authority } = message;
    draft.emit(
      "mid_turn_message_injected",
      {
        messages: [promptText(content)],
        messageIds: [messageId],
        items: [{ messageId, content }],
        takenPromptId: promptId,
        ...(authority && { authority }),
      },
      stampOf(running.promptId, message),
    );
    if (message.waited) {
      const over = { promptId, state: "completed" } as const;
      draft.emit("pending_prompt_completed", over, stampOf(promptId, message));
    }
  }
  return draft.accept();
}

/**
 * A message that no turn takes waits for the end of the turns before it, and is a prompt then. It
 * has a queue of its own, so it is taken where no more prompts are.
 */
function letWait(session: Session, command: Command<"steer">): Decision {
  const { prompt, unpaid } = command;
  if (pendingCount(session) === 0) return refused(session, refusal("no_turn_running"));
  // The message's own id keeps a repeat from waiting twice.
  const idempotency = prompt.idempotency ?? steeredAs(command.messageId);
  const first = firstAnswer(session, command, idempotency);
  const waiting = waitingMessages(session);
  if (first === null && waiting.length >= STEERED_MESSAGES_MAX) {
    return refused(session, refusal("steer_limit_exceeded", { limit: STEERED_MESSAGES_MAX }));
  }
  const same = waiting.find((message) => isAnswerFor(first, message.promptId));
  if (same !== undefined && JSON.stringify(same.content) !== JSON.stringify(prompt.content)) {
    return refused(session, refusal("idempotency_conflict"));
  }
  return admit(session, command, { ...prompt, idempotency }, { unpaid });
}

function isAnswerFor(answer: ReturnType<typeof firstAnswer>, promptId: PromptId): boolean {
  if (answer === null || answer === "conflict") return false;
  return "promptId" in answer && answer.promptId === promptId;
}

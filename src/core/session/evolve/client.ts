import type { ClientId, PromptId, UserId } from "../../id.ts";
import {
  ERROR_MESSAGE_CHARS_MAX,
  IDEMPOTENCY_AGE_MS_MAX,
  IDEMPOTENCY_KEYS_MAX,
  SHELL_CONTEXT_CHARS_MAX,
} from "../../limits.ts";
import { voterOf } from "../../policy/ask.ts";
import { cutText, lastOfText } from "../../text.ts";
import { admissionKey, steeredMessage } from "../command.ts";
import type { Keyed, SessionEvent } from "../event.ts";
import {
  type FirstAnswer,
  isSameSpeaker,
  type RegisteredClient,
  type RunningPrompt,
  type Session,
  speakerOf,
  type Totals,
  type WaitingPrompt,
} from "../state.ts";
import { titleOf } from "../title.ts";

// What clients do, and what becomes of it: they attach, prompt, steer and run shell commands.

export function attached(session: Session, { data }: SessionEvent<"client_attached">): Session {
  const known = session.clients.get(data.clientId);
  const userId = known?.userId ?? data.userId ?? null;
  return withClient(session, data.clientId, { count: (known?.count ?? 0) + 1, userId });
}

export function detached(session: Session, { data }: SessionEvent<"client_detached">): Session {
  const known = session.clients.get(data.clientId);
  if (known === undefined) return session;
  const left = known.count > 1 ? { ...known, count: known.count - 1 } : null;
  return withClient(session, data.clientId, left);
}

export function expired(session: Session, { data }: SessionEvent<"client_expired">): Session {
  return withClient(session, data.clientId, null);
}

function withClient(session: Session, id: ClientId, client: RegisteredClient | null): Session {
  const clients = new Map(session.clients);
  if (client === null) clients.delete(id);
  else clients.set(id, client);
  return { ...session, clients };
}

export function shellStarted(session: Session, event: SessionEvent<"user_shell_command">): Session {
  const { shellId, command, clientId, userId } = event.data;
  const atMs = event._meta.serverTimestamp;
  const by = { clientId: clientId ?? null, ...(userId && { userId }) };
  const shell = { command, ...by, startedAtMs: atMs };
  const shells = new Map(session.shells).set(shellId, shell);
  const admissions = remember(session.admissions, event.data, { shellId }, atMs);
  return { ...boundTo(session, clientId, userId), shells, admissions };
}

/** Told to the agent with the next prompt. The newest results are kept, within one budget. */
export function shellEnded(session: Session, { data }: SessionEvent<"user_shell_result">): Session {
  const exit = data.exitCode === null ? (data.signal ?? "aborted") : `exit code ${data.exitCode}`;
  const command = cutText(data.command, SHELL_CONTEXT_CHARS_MAX / 4);
  const output = lastOfText(data.output, SHELL_CONTEXT_CHARS_MAX / 2);
  const note = `$ ${command}\n${output}\n(${exit})`;
  const shells = new Map(session.shells);
  shells.delete(data.shellId);
  let charsLeft = SHELL_CONTEXT_CHARS_MAX;
  const kept = [...session.shellContext, note].reverse().filter((text) => {
    charsLeft -= text.length;
    return charsLeft >= 0;
  });
  return { ...session, shells, shellContext: kept.reverse() };
}

export function admitted(session: Session, event: SessionEvent<"prompt_admitted">): Session {
  const { sessionId: _, idempotency, lastEventId, ...prompt } = event.data;
  const messageId = steeredMessage(idempotency);
  const { promptId, admittedAtMs, clientId, userId, deadlineAtMs, params } = prompt;
  const waiting: WaitingPrompt = {
    ...prompt,
    clientId: clientId ?? null,
    userId: userId ?? null,
    deadlineAtMs: deadlineAtMs ?? null,
    params: params ?? null,
    waited: false,
    ...(messageId !== null && { messageId }),
  };
  const answer = { promptId, lastEventId };
  const title = session.title ?? titleOf(prompt);
  return {
    ...boundTo(session, clientId, userId),
    queue: [...session.queue, waiting],
    admissions: remember(session.admissions, event.data, answer, admittedAtMs),
    totals: { ...session.totals, promptCount: session.totals.promptCount + 1 },
    ...(title !== null && { title }),
  };
}

/** Keeps the newest keys that are young enough; the map is in order of arrival. */
function remember(
  known: Session["admissions"],
  { clientId, userId, idempotency }: Keyed,
  answer: FirstAnswer,
  atMs: number,
): Session["admissions"] {
  if (idempotency === undefined) return known;
  const key = admissionKey(voterOf(clientId ?? null, userId ?? null), idempotency.key);
  const young = [...known].filter(
    ([, admission]) => atMs - admission.atMs < IDEMPOTENCY_AGE_MS_MAX,
  );
  const { hash } = idempotency;
  return new Map([...young.slice(1 - IDEMPOTENCY_KEYS_MAX), [key, { hash, answer, atMs }]]);
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
  const { messageIds, authority = null, takenPromptId } = event.data;
  const steeredIds = [...running.steeredIds, ...messageIds];
  const speaker = { userId: event.originatorUserId ?? null, authority };
  const { steeredBy = [] } = running;
  const isKnown = [speakerOf(running), ...steeredBy].some((one) => isSameSpeaker(one, speaker));
  const others = isKnown ? {} : { steeredBy: [...steeredBy, speaker] };
  const steered = { ...session, running: { ...running, steeredIds, ...others } };
  return takenPromptId === undefined ? steered : withTaken(steered, steered.running, takenPromptId);
}

/** The prompt waits no more, and has its verdict with the turn that it went into. */
function withTaken(session: Session, running: RunningPrompt, promptId: PromptId): Session {
  const [taken] = session.queue.filter((prompt) => prompt.promptId === promptId);
  if (taken === undefined) return session;
  const queue = session.queue.filter((prompt) => prompt !== taken);
  // What it says is in the log; here it would count towards no limit.
  const kept = { ...taken, content: [], waited: false };
  return { ...session, queue, running: { ...running, taken: [...(running.taken ?? []), kept] } };
}

/** A failed call to the agent has the same event type, but is no request to stop. */
export function stopAsked(session: Session, event: SessionEvent<"prompt_cancelled">): Session {
  const { reason = "client" } = event.data;
  const { running } = session;
  if (running === null || running.promptId !== event.promptId) return session;
  if (reason === "forward_failed") return session;
  const stopAskedAtMs = event._meta.serverTimestamp;
  const stopping: RunningPrompt = { ...running, stopCause: reason, stopAskedAtMs };
  return { ...session, running: stopping };
}

export function completed(session: Session, event: SessionEvent<"turn_complete">): Session {
  const { promptId } = event.data;
  const wasRunning = session.running?.promptId === promptId;
  const settled = withoutPrompt(session, promptId, event._meta.serverTimestamp);
  if (!wasRunning) return settled;
  const totals = counted(settled.totals, "turnsCompleted");
  return { ...settled, totals };
}

export function failed(session: Session, event: SessionEvent<"turn_error">): Session {
  const { promptId, code } = event.data;
  const wasRunning = session.running?.promptId === promptId;
  const settled = withoutPrompt(session, promptId, event._meta.serverTimestamp);
  if (!wasRunning) return settled;
  const message = cutText(event.data.message, ERROR_MESSAGE_CHARS_MAX);
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

/**
 * A client that came before there were users belongs to the first one who speaks through it: from
 * then on no other user does.
 */
export function boundTo(
  session: Session,
  clientId: ClientId | undefined,
  userId: UserId | undefined,
): Session {
  if (clientId === undefined || userId === undefined) return session;
  const known = session.clients.get(clientId);
  if (known === undefined || known.userId !== null) return session;
  const clients = new Map(session.clients).set(clientId, { ...known, userId });
  return { ...session, clients };
}

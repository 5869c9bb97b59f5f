import {
  type AgentUpdate,
  type ContentBlock,
  chunkText,
  parentToolCallId,
  promptText,
} from "../../core/agent-update.ts";
import type { PromptId, SessionId } from "../../core/id.ts";
import { isObject, stringAt } from "../../core/json.ts";
import {
  MID_TURN_REMEMBERED_TURNS_MAX,
  TURN_STATUS_TEXT_CHARS_MAX,
  TURN_STATUS_TURNS_MAX,
} from "../../core/limits.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { ReplayEvent } from "../../core/replay/window.ts";
import { ok, type Result } from "../../core/result.ts";
import { keyOfAdmission, steeredMessage } from "../../core/session/command.ts";
import { isVerdict, type Numbered, type SessionEvent } from "../../core/session/event.ts";
import {
  atWork,
  type Session,
  type WaitingPrompt,
  waitingMessages,
} from "../../core/session/state.ts";
import { TERMINAL_ID_PREFIX } from "../../core/terminal-output.ts";
import { cutText } from "../../core/text.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import type { TurnStatus } from "../../wire/turn-status.ts";
import { searchTurns, sinceLastTurn } from "./log-search.ts";
import { isoTime } from "./summary.ts";

/** A session, and the store that holds its log. */
export interface TurnSource {
  readonly key: SessionKey;
  readonly session: Session;
  readonly store: SessionStore;
}

/** Returns the running turn, or else the next in the queue, or else the last that ended. */
export async function currentTurn(source: TurnSource): Promise<Result<TurnStatus>> {
  const pending = pendingTurn(source.session);
  if (pending.state !== "idle") return ok(pending);
  const last = await lastEnded(source);
  if (!last.ok) return last;
  const ended = last.value === null ? ok(null) : await endedStatus(source, last.value);
  if (!ended.ok) return ended;
  return ok(ended.value ?? pending);
}

/** What is at work, or next: as `currentTurn` says it, without a look at what has ended. */
export function pendingTurn(session: Session): TurnStatus {
  const pending = session.running ?? session.queue[0];
  if (pending !== undefined) return pendingStatus(session, pending);
  return { sessionId: session.sessionId, state: "idle" };
}

/** Returns null if there is no such prompt, or it ended too long ago. */
export async function turnOf(
  source: TurnSource,
  promptId: PromptId,
): Promise<Result<TurnStatus | null>> {
  const pending = [...atWork(source.session), ...source.session.queue];
  const found = pending.find((prompt) => prompt.promptId === promptId);
  if (found !== undefined) return ok(pendingStatus(source.session, found));
  return endedStatus(source, promptId);
}

function pendingStatus(session: Session, prompt: WaitingPrompt): TurnStatus {
  const { sessionId, running } = session;
  const { promptId, content, admittedAtMs: queuedAt, clientId, text } = prompt;
  const isRunning = running !== null && atWork(session).some((one) => one.promptId === promptId);
  return {
    sessionId,
    state: isRunning ? "running" : "queued",
    promptId,
    ...shownPrompt(promptText(content) || text),
    queuedAt,
    ...(isRunning && { startedAt: running.startedAtMs }),
    ...(clientId !== null && { originatorClientId: clientId }),
  };
}

type VerdictEvent = Numbered<SessionEvent<"turn_complete" | "turn_error">>;

/** Returns the prompt with the last verdict. */
async function lastEnded({ store, key }: TurnSource): Promise<Result<PromptId | null>> {
  const since = await sinceLastTurn(store, key, VERDICT_MARK);
  if (!since.ok) return since;
  let last = since.value.findLast(isNumberedVerdict);
  if (last === undefined) {
    const looked = await searchTurns(store, key, search(VERDICT_MARK), (turn) => {
      last = turn.findLast(isNumberedVerdict);
      return last !== undefined;
    });
    if (!looked.ok) return looked;
  }
  return ok(last?.data.promptId ?? null);
}

const search = (text: string) => ({ text, turnsMax: TURN_STATUS_TURNS_MAX });

/** Stands in the text of both kinds of verdict. */
const VERDICT_MARK = '"type":"turn_';

/**
 * Searches the finished turns first, although the events since are newer: while another turn runs
 * there may be very many of those, and hardly ever a verdict among them.
 */
async function endedStatus(
  { store, key }: TurnSource,
  promptId: PromptId,
): Promise<Result<TurnStatus | null>> {
  const own: LogEvent[] = [];
  const ofPrompt = (events: readonly LogEvent[]) =>
    events.filter((event) => event.promptId === promptId);
  const looked = await searchTurns(store, key, search(promptId), (turn) => {
    own.unshift(...ofPrompt(turn));
    return isComplete(own);
  });
  if (!looked.ok) return looked;
  if (!own.some(isNumberedVerdict)) {
    const since = await sinceLastTurn(store, key, promptId);
    if (!since.ok) return since;
    own.push(...ofPrompt(since.value));
  }
  const verdict = own.find(isNumberedVerdict);
  return ok(verdict === undefined ? null : statusOf(key.sessionId, verdict, own));
}

/** Whether the verdict is among these, and the admission too if the prompt had to wait. */
function isComplete(own: readonly LogEvent[]): boolean {
  const has = (type: string) => own.some((event) => event.type === type);
  const hasBegun = !has("pending_prompt_completed") || has("pending_prompt_added");
  return hasBegun && own.some(isNumberedVerdict);
}

function isNumberedVerdict(event: LogEvent): event is VerdictEvent {
  return isVerdict(event);
}

function statusOf(
  sessionId: SessionId,
  verdict: VerdictEvent,
  own: readonly LogEvent[],
): TurnStatus {
  const { promptId, originatorClientId } = verdict;
  return {
    sessionId,
    ...outcomeOf(verdict, own),
    ...(promptId && { promptId }),
    ...begun(own),
    endedAt: verdict._meta.serverTimestamp,
    cost: verdict.data.cost ?? null,
    ...result(own),
    ...(originatorClientId && { originatorClientId }),
  };
}

/** A slash command that failed was answered, so its verdict is no error; for a poller it is. */
function outcomeOf(
  verdict: VerdictEvent,
  own: readonly LogEvent[],
): Pick<TurnStatus, "state" | "stopReason" | "error"> {
  if (verdict.type === "turn_complete") {
    const { stopReason } = verdict.data;
    const failed = own.find(isFailedCommand);
    if (failed !== undefined) {
      const { code, message } = failed.data;
      return { state: "error", stopReason, error: { message, code } };
    }
    return { state: stopReason === "cancelled" ? "cancelled" : "completed", stopReason };
  }
  const { message, code, errorKind } = verdict.data;
  return { state: "error", error: { message, code, ...(errorKind && { errorKind }) } };
}

function isFailedCommand(event: LogEvent): event is Numbered<SessionEvent<"command_result">> {
  return event.type === "command_result" && event.data.status === "error";
}

/** A folded turn no longer has its admission, but it has the echo to other clients. */
function begun(own: readonly LogEvent[]): Partial<TurnStatus> {
  const admitted = own.find((event) => event.type === "prompt_admitted");
  const waited = own.find((event) => event.type === "pending_prompt_added");
  const started = own.find((event) => event.type === "pending_prompt_started");
  const echoed = own.filter(isEcho);
  const startedAt = (started ?? echoed[0])?._meta.serverTimestamp;
  const queuedAt = admitted?.data.admittedAtMs ?? waited?.data.queuedAt;
  const texts = echoed.map(({ data }) => chunkText(data.update)).filter((text) => text !== null);
  const text = texts.length > 0 ? texts.join("\n") : (admitted ?? waited)?.data.text;
  return {
    ...(text !== undefined && shownPrompt(text)),
    ...(queuedAt !== undefined && { queuedAt }),
    ...(startedAt !== undefined && { startedAt }),
  };
}

function isEcho(event: LogEvent): event is Numbered<SessionEvent<"session_update">> {
  if (event.type !== "session_update") return false;
  const { sessionUpdate, _meta } = event.data.update;
  const isOurs = isObject(_meta) && _meta.source === "bridge-echo";
  return sessionUpdate === "user_message_chunk" && isOurs;
}

function shownPrompt(text: string): Partial<TurnStatus> {
  const shown = cutText(text, TURN_STATUS_TEXT_CHARS_MAX);
  const isCut = shown.length < text.length;
  return { promptText: shown, ...(isCut && { promptTextTruncated: true }) };
}

function result(own: readonly LogEvent[]): Partial<TurnStatus> {
  const text = finalWords(own);
  if (text === "") return {};
  const resultText = cutText(text, TURN_STATUS_TEXT_CHARS_MAX);
  if (resultText.length === text.length) return { resultText };
  return { resultText, resultTruncated: true, resultCode: "RESULT_TEXT_TRUNCATED" };
}

/** What the agent said after its last tool call, without the words and calls of its sub-agents. */
function finalWords(own: readonly LogEvent[]): string {
  const calls = new Set<string>();
  let words = "";
  for (const event of own) {
    if (event.type !== "session_update") continue;
    const { update } = event.data;
    if (isOfSubAgent(update)) continue;
    const toolCallId = isCall(update) ? stringAt(update, "toolCallId") : null;
    if (toolCallId !== null && !calls.has(toolCallId)) {
      calls.add(toolCallId);
      words = "";
    } else if (update.sessionUpdate === "agent_message_chunk") {
      words += chunkText(update) ?? "";
    }
  }
  return words;
}

function isOfSubAgent(update: AgentUpdate): boolean {
  const parent = parentToolCallId(update);
  return parent !== null && parent !== update.toolCallId;
}

/**
 * Some agents announce a call by its first update. One of ours, which shows a terminal that the
 * agent has not named, may come after its last word.
 */
function isCall({ sessionUpdate, toolCallId }: AgentUpdate): boolean {
  if (String(toolCallId).startsWith(TERMINAL_ID_PREFIX)) return false;
  return sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
}

/** A message into a turn that waits for the turn's end, as `GET …/mid-turn-messages` answers. */
export interface QueuedMessage {
  readonly messageId: string;
  readonly text: string;
  /** The blocks that are not text. */
  readonly content?: readonly ContentBlock[];
}

export function queuedMessages(session: Session): readonly QueuedMessage[] {
  return waitingMessages(session).map(({ messageId, content }) => {
    const media = content.filter(({ type }) => type !== "text");
    return { messageId, text: promptText(content), ...(media.length > 0 && { content: media }) };
  });
}

/** A mid-turn message that the agent could not take, and that is a prompt instead. */
interface PromotedMessage {
  readonly messageId: string;
  readonly promptId: PromptId;
}

/** Returns those that the session remembers: as long as it would recognize a retry of them. */
export function promotedMessages({ admissions }: Session): readonly PromotedMessage[] {
  return [...admissions].flatMap(([name, { hash, answer }]) => {
    const messageId = steeredMessage({ key: keyOfAdmission(name), hash });
    const isSteered = messageId !== null && "promptId" in answer;
    return isSteered ? [{ messageId, promptId: answer.promptId }] : [];
  });
}

/** Returns the messages that the agent received in its last turns, oldest first. */
export async function settledMessageIds(source: TurnSource): Promise<Result<readonly string[]>> {
  const { store, key, session } = source;
  const recent = await recentIds(source);
  if (!recent.ok) return recent;
  const earlier: string[] = [];
  const search = { text: INJECTED_MARK, turnsMax: MID_TURN_REMEMBERED_TURNS_MAX };
  const looked = await searchTurns(store, key, search, (turn) => {
    earlier.unshift(...turn.flatMap(injectedIds));
    return false;
  });
  if (!looked.ok) return looked;
  return ok([...new Set([...earlier, ...recent.value, ...(session.running?.steeredIds ?? [])])]);
}

/** The running turn knows its own messages; those of an interrupted one are only in the log. */
async function recentIds({ store, key, session }: TurnSource): Promise<Result<readonly string[]>> {
  if (session.running !== null) return ok([]);
  const since = await sinceLastTurn(store, key, INJECTED_MARK);
  return since.ok ? ok(since.value.flatMap(injectedIds)) : since;
}

const INJECTED_MARK = '"type":"mid_turn_message_injected"';

function injectedIds(event: LogEvent): readonly string[] {
  return event.type === "mid_turn_message_injected" ? event.data.messageIds : [];
}

/** How a prompt ended. */
export interface PromptTerminal {
  readonly v: 1;
  readonly promptId: PromptId;
  readonly terminal: "completed" | "cancelled" | "error" | "interrupted";
  readonly code?: string;
  readonly stopReason?: string;
  readonly at: string;
}

/** Returns the prompts with a verdict among these events, in order. */
export function promptTerminals(events: readonly ReplayEvent[]): readonly PromptTerminal[] {
  return events.flatMap((event) => {
    const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
    return isVerdict ? [terminalOf(event)] : [];
  });
}

function terminalOf(event: SessionEvent<"turn_complete" | "turn_error">): PromptTerminal {
  const { promptId } = event.data;
  const at = isoTime(event._meta.serverTimestamp);
  if (event.type === "turn_complete") {
    const { stopReason } = event.data;
    const terminal = stopReason === "cancelled" ? "cancelled" : "completed";
    return { v: 1, promptId, terminal, stopReason, at };
  }
  const { code } = event.data;
  if (!INTERRUPTED.has(code)) return { v: 1, promptId, terminal: "error", code, at };
  return { v: 1, promptId, terminal: "interrupted", code: "daemon_lost", at };
}

/** Errors of prompts that ran when their server, or its store, failed. */
const INTERRUPTED: ReadonlySet<string> = new Set(["SERVER_RESTART", "STORE_FAILURE"]);

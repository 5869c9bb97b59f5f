import { type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import type { PromptId, TurnId } from "../../core/id.ts";
import { isObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import {
  PAGE_ROWS_MAX,
  PAST_LOG_CHARS_MAX,
  PAST_LOG_PAGE_ROWS_MAX,
  PAST_LOG_ROWS_MAX,
} from "../../core/limits.ts";
import {
  compactSegment,
  joinableText,
  type LogEvent,
  type UpdateEvent,
} from "../../core/replay/compact.ts";
import { ok, type Result } from "../../core/result.ts";
import type { Numbered, SessionEvent } from "../../core/session/event.ts";
import type { RunningPrompt } from "../../core/session/state.ts";
import { turnErrorFact } from "../../core/turn-error.ts";
import type { FoldedTurn, SessionKey, SessionStore } from "../../store/store.ts";
import { eventIn, eventsIn } from "../replay.ts";
import {
  type AssistantMessage,
  blocksIn,
  type ConversationMessage,
  isBlock,
  type ToolStatus,
} from "./message.ts";

/** What of the prompt at work its messages are made of. */
export type TurnPrompt = Pick<
  RunningPrompt,
  "promptId" | "content" | "admittedAtMs" | "shellContext"
>;

/**
 * What a turn adds to the conversation: the whole turn if it was completed or cancelled, and
 * nothing if it failed, has no verdict, or was no turn at all. The events may be raw or folded;
 * both come to the same messages. A prompt that waited was admitted before its turn's events, so
 * a caller that knows the prompt passes it; else it is taken from the events.
 */
export function turnMessages(
  events: readonly LogEvent[],
  prompt?: TurnPrompt | null,
): readonly ConversationMessage[] {
  const verdict = verdictIn(events, prompt?.promptId ?? null);
  if (verdict?.type !== "turn_complete") return [];
  const { promptId, turnId, stopReason } = verdict.data;
  if (turnId === undefined) return [];
  const isCancelled = stopReason === "cancelled";
  return written(events, new MessageWriter(turnId, promptId, isCancelled), prompt ?? null);
}

/** Returns the messages of a turn that its events have, however the turn ended. */
function loggedMessages(
  events: readonly LogEvent[],
  { turnId, promptId }: Pick<RunningPrompt, "turnId" | "promptId">,
): readonly ConversationMessage[] {
  return written(events, new MessageWriter(turnId, promptId, true), null);
}

function written(
  events: readonly LogEvent[],
  writer: MessageWriter,
  prompt: TurnPrompt | null,
): readonly ConversationMessage[] {
  const { promptId } = writer;
  // What a child said is in the log; the conversation has what its call was answered.
  const own = events.filter((event) => event.promptId === promptId && event.childId === undefined);
  writer.prompt(prompt ?? promptIn(own, promptId));
  for (const event of compactSegment(own)) {
    if (event.type === "session_update") writer.update(event);
    if (event.type === "mid_turn_message_injected") writer.steered(event);
  }
  return writer.messages;
}

/** The verdict of the given prompt, or of the last one that was a turn. */
function verdictIn(events: readonly LogEvent[], promptId: PromptId | null) {
  return events.findLast(
    (event) =>
      (event.type === "turn_complete" || event.type === "turn_error") &&
      (promptId === null ? event.data.turnId !== undefined : event.data.promptId === promptId),
  );
}

/** The prompt as it was admitted; or else as it was shown to other clients. */
function promptIn(own: readonly LogEvent[], promptId: PromptId): TurnPrompt | null {
  const shown: ContentBlock[] = [];
  let shownAtMs = 0;
  for (const event of own) {
    if (event.type === "prompt_admitted") {
      const { content, admittedAtMs } = event.data;
      return { promptId, content, admittedAtMs, shellContext: [] };
    }
    const block = event.type === "session_update" ? echoed(event) : null;
    if (block === null) continue;
    shown.push(block);
    shownAtMs ||= event._meta.serverTimestamp;
  }
  if (shown.length === 0) return null;
  return { promptId, content: shown, admittedAtMs: shownAtMs, shellContext: [] };
}

/** A block of the prompt itself; an agent that repeats its user bears no such mark. */
function echoed({ data: { update } }: UpdateEvent): ContentBlock | null {
  const isEcho = objectAt(update, "_meta")?.source === "bridge-echo";
  const { content } = update;
  return update.sessionUpdate === "user_message_chunk" && isEcho && isBlock(content)
    ? content
    : null;
}

/** Writes the messages of one turn, in order. */
class MessageWriter {
  readonly messages: ConversationMessage[] = [];
  readonly #turnId: TurnId;
  readonly promptId: PromptId;
  readonly #isCancelled: boolean;
  /** The message that goes on, if the next words have the same key. */
  #open: { readonly key: string; readonly content: ContentBlock[] } | null = null;

  constructor(turnId: TurnId, promptId: PromptId, isCancelled: boolean) {
    this.#turnId = turnId;
    this.promptId = promptId;
    this.#isCancelled = isCancelled;
  }

  prompt(prompt: TurnPrompt | null) {
    if (prompt === null) return;
    const { content, admittedAtMs, shellContext } = prompt;
    const context = shellContext.length > 0 ? { context: shellContext } : {};
    this.#say({ role: "user", promptId: this.promptId, content, ...context }, admittedAtMs);
  }

  steered({ data, _meta }: Numbered<SessionEvent<"mid_turn_message_injected">>) {
    data.messageIds.forEach((messageId, index) => {
      const text = { type: "text", text: data.messages[index] ?? "" };
      const content = blocksIn(data.items[index]?.content) ?? [text];
      const promptId = this.promptId;
      this.#say({ role: "user", promptId, messageId, content }, _meta.serverTimestamp);
    });
  }

  update(event: UpdateEvent) {
    const kind = event.data.update.sessionUpdate;
    if (kind === "agent_message_chunk") this.#words(event);
    if (kind === "tool_call" || kind === "tool_call_update") this.#toolCall(event);
  }

  /** Words go on the last message if they are of the same one, also across a thought. */
  #words({ data: { update }, _meta }: UpdateEvent) {
    const { content: block } = update;
    if (!isBlock(block) || block.text === "") return;
    const under = parentToolCallId(update);
    const messageId = stringAt(update, "messageId");
    const isDiscrete = block.type === "text" && joinableText(update) === null;
    const key = JSON.stringify([under, messageId]);
    if (this.#open?.key === key && !isDiscrete) {
      this.#open.content.push(block);
      return;
    }
    const content = [block];
    const names = { ...(messageId && { messageId }), ...(under && { under }) };
    const message: Unplaced<AssistantMessage> = { role: "assistant", content, ...names };
    this.#say(message, _meta.serverTimestamp);
    if (!isDiscrete) this.#open = { key, content };
  }

  #toolCall({ data: { update }, _meta }: UpdateEvent) {
    const { toolCallId, status, content, rawOutput, ...rest } = update;
    if (typeof toolCallId !== "string" || toolCallId === "") return;
    const { sessionUpdate: _kind, _meta: meta, ...call } = rest;
    const under = parentToolCallId(update);
    const message = {
      role: "tool",
      toolCallId,
      status: this.#ending(status, meta),
      call: withoutNulls(call),
      result: withoutNulls({ content: content ?? null, rawOutput: rawOutput ?? null }),
    } as const;
    this.#say(under === null ? message : { ...message, under }, _meta.serverTimestamp);
  }

  /** The core closes the calls that it tracks; those beyond its limit are closed here. */
  #ending(status: unknown, meta: unknown): ToolStatus {
    if (status === "completed") return "completed";
    if (status === "failed") return isClosedByCore(meta) ? "cancelled" : "failed";
    return this.#isCancelled ? "cancelled" : "unreported";
  }

  #say(message: Unplaced<ConversationMessage>, atMs: number) {
    this.messages.push({ ...message, turnId: this.#turnId, atMs });
    this.#open = null;
  }
}

function isClosedByCore(meta: unknown): boolean {
  return isObject(meta) && meta.source === "turn-end" && meta.cancelled === true;
}

type Unplaced<Message> = Message extends unknown ? Omit<Message, "turnId" | "atMs"> : never;

/**
 * A turn as the log has it. One that was completed is in the conversation, and only named here; of
 * one that was interrupted nothing else has kept what was asked, said and done in it.
 */
export type LoggedTurn =
  | { readonly kind: "whole"; readonly turnId: TurnId }
  | {
      readonly kind: "interrupted";
      readonly reason: string;
      readonly messages: readonly ConversationMessage[];
    };

interface TurnLog {
  readonly store: Pick<SessionStore, "readRecord" | "readEvents" | "readTurns">;
  readonly key: SessionKey;
  /** Something of it could not be read, and the rest goes on without it (P6). */
  missed(reason: string): void;
}

/** The turns of a session, newest first, and not farther back than is worth reading. */
export async function* loggedTurns(log: TurnLog): AsyncGenerator<LoggedTurn> {
  const recent = await sinceSnapshot(log);
  if (!recent.ok) return log.missed(recent.refusal.code);
  yield* turnsIn(recent.value);
  let before = Number.MAX_SAFE_INTEGER;
  let rowsLeft = PAST_LOG_ROWS_MAX;
  let charsLeft = PAST_LOG_CHARS_MAX;
  while (rowsLeft > 0 && charsLeft > 0) {
    const limit = Math.min(rowsLeft, PAST_LOG_PAGE_ROWS_MAX);
    const page = await log.store.readTurns(log.key, { before, limit });
    if (!page.ok) return log.missed(page.refusal.code);
    for (const row of page.value.rows) {
      before = row.firstId;
      rowsLeft -= 1;
      charsLeft -= row.text.length;
      yield* turnsIn(readable(log, row));
    }
    if (!page.value.more) return;
  }
}

/** What no snapshot has closed yet, such as a turn that a crash has ended. */
async function sinceSnapshot({ store, key }: TurnLog): Promise<Result<readonly LogEvent[]>> {
  const record = await store.readRecord(key);
  if (!record.ok) return record;
  const { snapshotEventId, lastEventId } = record.value;
  const all: LogEvent[] = [];
  for (let after = snapshotEventId; after < lastEventId; ) {
    const page = await store.readEvents(key, { after, limit: PAGE_ROWS_MAX });
    if (!page.ok) return page;
    all.push(...page.value.events.map(eventIn));
    after = page.value.events.at(-1)?.id ?? lastEventId;
  }
  return ok(all);
}

function readable(log: TurnLog, row: FoldedTurn): readonly LogEvent[] {
  try {
    return eventsIn(row);
  } catch {
    log.missed(`the turn that ended with event ${row.lastId} cannot be read`);
    return [];
  }
}

/** Prompts that never ran, and commands, are no turns. */
function* turnsIn(events: readonly LogEvent[]): Generator<LoggedTurn> {
  for (const event of events.toReversed()) {
    if (event.type !== "turn_complete" && event.type !== "turn_error") continue;
    const { turnId, promptId } = event.data;
    if (turnId === undefined) continue;
    if (event.type === "turn_complete") yield { kind: "whole", turnId };
    else {
      const messages = loggedMessages(events, { turnId, promptId });
      const reason = turnErrorFact(event.data.code, event.data.message);
      if (messages.length > 0) yield { kind: "interrupted", reason, messages };
    }
  }
}

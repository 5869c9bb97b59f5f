import type { AgentPast, PastMessage } from "../../agent/agent.ts";
import type { ContentBlock } from "../../core/agent-update.ts";
import { objectAt, stringAt } from "../../core/json.ts";
import {
  ERROR_MESSAGE_CHARS_MAX,
  PAST_INTERRUPTED_CHARS_MAX,
  PAST_PAGE_ROWS_MAX,
  PAST_TOOL_LINES_MAX,
  PAST_TOOL_TITLE_CHARS_MAX,
} from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import { cutText, lastOfText } from "../../core/text.ts";
import type { Page, Range, SessionKey, StoredText } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { type ConversationMessage, readMessage, type ToolMessage } from "./message.ts";
import { type LoggedTurn, loggedTurns } from "./turn-messages.ts";

/** Where a conversation is read from. */
export interface StoredConversation {
  /** How many messages there are: the number of the last. */
  readonly messageCount: number;
  read(range: Range): Promise<Result<Page<StoredText>>>;
  /** Something of it could not be read, and the rest goes on without it (P6). */
  missed(reason: string): void;
}

/**
 * Writes a conversation for a fresh agent, newest first, and reads only as far as the caller does.
 * It leaves out sub-agents, and puts tool calls in a row into one message.
 */
export function pastOf(conversation: StoredConversation): AsyncGenerator<PastMessage> {
  return pastMessages(newestFirst(conversation));
}

/** Adds the turns that were interrupted, each at its position and marked as such. */
export function pastWith(
  conversation: StoredConversation,
  turns: AsyncIterable<LoggedTurn>,
): AsyncGenerator<PastMessage> {
  return pastMessages(inOrder(newestFirst(conversation), turns));
}

/** Why a turn was interrupted, at its position after the messages of the turn. */
interface InterruptionMark {
  readonly role: "interruption";
  readonly reason: string;
}

async function* inOrder(
  messages: AsyncGenerator<ConversationMessage>,
  turns: AsyncIterable<LoggedTurn>,
): AsyncGenerator<ConversationMessage | InterruptionMark> {
  let next = await messages.next();
  for await (const turn of turns) {
    if (turn.kind === "interrupted") {
      yield { role: "interruption", reason: turn.reason };
      yield* turn.messages.toReversed().map(shortened);
      continue;
    }
    while (!next.done && next.value.turnId === turn.turnId) {
      yield next.value;
      next = await messages.next();
    }
  }
  if (!next.done) yield next.value;
  yield* messages;
}

/** Cuts long messages, so that a long answer does not push out its question: its end counts. */
function shortened(message: ConversationMessage): ConversationMessage {
  if (message.role === "tool") return message;
  const text = spokenText(message);
  if (text.length <= PAST_INTERRUPTED_CHARS_MAX) return message;
  const cut =
    message.role === "user"
      ? `${cutText(text, PAST_INTERRUPTED_CHARS_MAX)} […]`
      : `[…] ${lastOfText(text, PAST_INTERRUPTED_CHARS_MAX)}`;
  const content = [{ type: "text", text: cut }];
  return message.role === "user" ? { ...message, content, context: [] } : { ...message, content };
}

async function* pastMessages(
  newestFirst: AsyncIterable<ConversationMessage | InterruptionMark>,
): AsyncGenerator<PastMessage> {
  const tools = new ToolRun();
  for await (const message of newestFirst) {
    if (message.role === "interruption") {
      yield* tools.flush();
      const reason = cutText(message.reason, ERROR_MESSAGE_CHARS_MAX);
      yield { role: "agent", text: `(this turn was interrupted: ${reason})` };
      continue;
    }
    if (message.role !== "user" && message.under !== undefined) continue;
    if (message.role === "tool") {
      tools.add(message);
      continue;
    }
    yield* tools.flush();
    const text = spokenText(message);
    if (text !== "") yield { role: message.role === "user" ? "user" : "agent", text };
  }
  yield* tools.flush();
}

function spokenText(message: Exclude<ConversationMessage, ToolMessage>): string {
  const text = message.content.map(blockText).join("\n\n");
  const context = message.role === "user" ? (message.context ?? []) : [];
  return [...context, text].filter((part) => part.trim() !== "").join("\n\n");
}

/** What is not text is at least named. */
function blockText(block: ContentBlock): string {
  const text = stringAt(block, "text");
  if (block.type === "text" && text !== null) return text;
  const uri = stringAt(block, "uri") ?? stringAt(objectAt(block, "resource") ?? {}, "uri");
  return uri === null ? `[${block.type}]` : `[${block.type}: ${uri}]`;
}

/** Collects tool calls in a row: it lists the newest and counts the rest. */
class ToolRun {
  #lines: string[] = [];
  #earlier = 0;

  add({ call, toolCallId, status }: ToolMessage) {
    const named = stringAt(call, "title") || stringAt(call, "kind") || toolCallId;
    const line = `[tool: ${cutText(named, PAST_TOOL_TITLE_CHARS_MAX)}: ${status}]`;
    if (this.#lines.length < PAST_TOOL_LINES_MAX) this.#lines.unshift(line);
    else this.#earlier += 1;
  }

  *flush(): Generator<PastMessage> {
    if (this.#lines.length === 0) return;
    const earlier = this.#earlier > 0 ? [`[${this.#earlier} tool calls before]`] : [];
    yield { role: "agent", text: [...earlier, ...this.#lines].join("\n") };
    this.#lines = [];
    this.#earlier = 0;
  }
}

/**
 * Messages are stored and read forwards, so a window is moved backwards over them. A page that
 * was cut for its bytes does not reach the window's end; then the window is made smaller, down to
 * one message, so that never more than one page is held.
 */
async function* newestFirst(conversation: StoredConversation): AsyncGenerator<ConversationMessage> {
  let through = conversation.messageCount;
  let rowsWanted = PAST_PAGE_ROWS_MAX;
  while (through > 0) {
    const after = Math.max(0, through - rowsWanted);
    const page = await conversation.read({ after, limit: through - after });
    if (!page.ok) return conversation.missed(page.refusal.code);
    const { rows, more } = page.value;
    const isCut = more && (rows.at(-1)?.id ?? 0) < through;
    if (isCut && rowsWanted > 1) {
      rowsWanted = Math.ceil(rowsWanted / 2);
      continue;
    }
    for (const { id, text } of rows.toReversed()) {
      const message = readMessage(text);
      if (message === null) conversation.missed(`message ${id} cannot be read`);
      else yield message;
    }
    through = after;
    rowsWanted = Math.min(rowsWanted * 2, PAST_PAGE_ROWS_MAX);
  }
}

/** Returns the past that an agent receives; null for a session without one. */
export function agentPast(
  world: SessionWorld,
  { key, epoch }: { readonly key: SessionKey; readonly epoch: string },
  { totals, agentUntold, agentEpoch, agentSessionId: known }: Session,
  hadMessages: boolean,
): AgentPast | null {
  const isNew = totals.turnsCompleted + totals.turnsFailed === 0 && !hadMessages;
  // An agent that was never given a prompt was not told of what had been before it either; one of
  // another epoch, as before a restored backup, may know of what never was.
  const agentSessionId = !agentUntold && agentEpoch === epoch ? known : null;
  if (agentSessionId === null && isNew) return null;
  return { agentSessionId, messages: () => storedMessages(world, key) };
}

/** Returns the messages of a session, newest first, for an agent that joins it. */
async function* storedMessages(
  { store, log }: SessionWorld,
  key: SessionKey,
): AsyncGenerator<PastMessage> {
  const record = await store.readRecord(key);
  if (!record.ok) return;
  const { messageCount } = record.value;
  const missed = (reason: string) => {
    log("message not told to the agent", { sessionId: key.sessionId, reason });
  };
  const conversation = {
    messageCount,
    read: (range: Range) => store.readMessages(key, range),
    missed,
  };
  yield* pastWith(conversation, loggedTurns({ store, key, missed }));
}

import type { ContentBlock } from "../../core/agent-update.ts";
import { type PromptId, parsePromptId, parseTurnId, type TurnId } from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";

/**
 * One message of a conversation, as the manifest keeps it. Messages are never reordered. Thoughts
 * of agents are not among them: another agent has no use for them. The log has them.
 */
export type ConversationMessage = UserMessage | AssistantMessage | ToolMessage;

interface OfTurn {
  /** By which a conversation can be cut after a turn. */
  readonly turnId: TurnId;
  readonly atMs: number;
}

interface UserMessage extends OfTurn {
  readonly role: "user";
  readonly promptId: PromptId;
  /** Present if a client sent it into a running turn. */
  readonly messageId?: string;
  readonly content: readonly ContentBlock[];
  /** What the agent received beside the prompt: results of shell commands. */
  readonly context?: readonly string[];
}

export interface AssistantMessage extends OfTurn {
  readonly role: "assistant";
  readonly messageId?: string;
  readonly content: readonly ContentBlock[];
  /** The tool call of the sub-agent that wrote it. */
  readonly under?: string;
}

/** A call and what came of it in one message, so that no call can be without a result. */
export interface ToolMessage extends OfTurn {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly status: ToolStatus;
  /** The title, kind, locations and input, as ACP has them. */
  readonly call: JsonObject;
  /** What came of it: content and raw output. */
  readonly result: JsonObject;
  readonly under?: string;
}

/** `unreported`: the turn was completed, and the agent never reported how the call ended. */
export type ToolStatus = (typeof TOOL_STATUSES)[number];

const TOOL_STATUSES = ["completed", "failed", "cancelled", "unreported"] as const;

/** Messages outlive versions of this program, so each says by which rules it was written. */
const VERSION = 1;

/** The text that stores keep. */
export function messageText(message: ConversationMessage): string {
  return JSON.stringify({ v: VERSION, ...message });
}

/** The message that a stored text holds; null if it is none that this version understands. */
export function readMessage(text: string): ConversationMessage | null {
  const stored = parsed(text);
  if (stored === null || stored.v !== VERSION) return null;
  const turnId = parseTurnId(stringAt(stored, "turnId") ?? "");
  const { atMs } = stored;
  if (turnId === null || typeof atMs !== "number") return null;
  const role = stringAt(stored, "role");
  if (role === "user") return userMessage(stored, { turnId, atMs });
  if (role === "assistant") return assistantMessage(stored, { turnId, atMs });
  return role === "tool" ? toolMessage(stored, { turnId, atMs }) : null;
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function userMessage(stored: JsonObject, of: OfTurn): UserMessage | null {
  const promptId = parsePromptId(stringAt(stored, "promptId") ?? "");
  const content = blocksIn(stored.content);
  if (promptId === null || content === null) return null;
  const { context } = stored;
  const texts = Array.isArray(context) ? context.filter((one) => typeof one === "string") : [];
  const beside = texts.length > 0 ? { context: texts } : {};
  return { role: "user", ...of, promptId, content, ...named(stored, "messageId"), ...beside };
}

function assistantMessage(stored: JsonObject, of: OfTurn): AssistantMessage | null {
  const content = blocksIn(stored.content);
  if (content === null) return null;
  const names = { ...named(stored, "messageId"), ...named(stored, "under") };
  return { role: "assistant", ...of, content, ...names };
}

function toolMessage(stored: JsonObject, of: OfTurn): ToolMessage | null {
  const toolCallId = stringAt(stored, "toolCallId");
  const status = TOOL_STATUSES.find((one) => one === stored.status);
  const call = objectAt(stored, "call");
  const result = objectAt(stored, "result");
  if (toolCallId === null || status === undefined || call === null || result === null) return null;
  return { role: "tool", ...of, toolCallId, status, call, result, ...named(stored, "under") };
}

function named<Key extends string>(stored: JsonObject, key: Key): { readonly [K in Key]?: string } {
  const name = stringAt(stored, key);
  const fields: { [K in Key]?: string } = {};
  if (name !== null) fields[key] = name;
  return fields;
}

/** The blocks of some content; null if it is not a list of blocks. */
export function blocksIn(content: unknown): readonly ContentBlock[] | null {
  return Array.isArray(content) && content.every(isBlock) ? content : null;
}

export function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === "string";
}

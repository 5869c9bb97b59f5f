import { isObject, type JsonObject, objectAt, stringAt } from "./json.ts";

/**
 * One `session/update` of an agent, kept exactly as it came. The core looks inside only for what
 * it has to know; unknown kinds, fields and values pass through untouched.
 */
export interface AgentUpdate extends JsonObject {
  readonly sessionUpdate: string;
}

/** A block of prompt or message content, as ACP has it. */
export interface ContentBlock extends JsonObject {
  readonly type: string;
}

/** The text of a message or thought chunk; null if it carries an image or anything else. */
export function chunkText(update: AgentUpdate): string | null {
  const { content } = update;
  if (!isObject(content) || content.type !== "text") return null;
  const { text } = content;
  return typeof text === "string" ? text : null;
}

/** The text blocks of a prompt, joined: what lists show, and what a command line is read from. */
export function promptText(content: readonly ContentBlock[]): string {
  return content
    .filter((block) => block.type === "text")
    .map((block) => stringAt(block, "text") ?? "")
    .join("\n");
}

export interface ToolCallNews {
  readonly toolCallId: string;
  readonly toolName: string | null;
  readonly status: "open" | "completed" | "failed";
}

/** What a `tool_call` or `tool_call_update` says; null if it does not even name its call. */
export function toolCallNews(update: AgentUpdate): ToolCallNews | null {
  const toolCallId = stringAt(update, "toolCallId");
  if (toolCallId === null) return null;
  const status = stringAt(update, "status");
  const ended = status === "completed" || status === "failed";
  return {
    toolCallId,
    toolName: stringAt(update, "title") ?? stringAt(update, "kind"),
    status: ended ? status : "open",
  };
}

/** The plan that a `plan_update` or `plan_removed` is about. */
export function planIdOf(update: AgentUpdate): string | null {
  return stringAt(objectAt(update, "plan") ?? update, "planId");
}

/** The sub-agent's call under which this update was made, if an agent marks it so. */
export function parentToolCallId(update: AgentUpdate): string | null {
  const meta = objectAt(update, "_meta");
  return (meta === null ? null : stringAt(meta, "parentToolCallId")) || null;
}

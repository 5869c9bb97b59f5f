import { errorBody, type Refusal } from "../core/error.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { RPC_NESTING_MAX, TOOL_ANSWER_CHARS_MAX } from "../core/limits.ts";
import type { Result } from "../core/result.ts";
import { cutText } from "../core/text.ts";
import { isNestedDeeper } from "../wire/json.ts";

/**
 * Tools that run without a model, when a person calls a skill that dispatches to one: those built
 * in, and those of the configured MCP servers. Whether a call is allowed is not decided here.
 */
export interface Tools {
  /**
   * What can be called at the moment; built-in ones by name, others as `server:tool`. Whoever
   * wants certain ones spares MCP servers the question, which may start them and take a while.
   */
  list(wanted?: readonly string[]): Promise<readonly ToolInfo[]>;
  /**
   * The call that a person's words come to in this place. It is refused with `tool_unknown`,
   * `tool_unavailable` (its server cannot be reached) or `tool_input_invalid`.
   */
  callOf(name: string, words: string, place: ToolPlace): Promise<Result<ToolCall>>;
  /** Runs it; failing is an answer, too. The signal ends it, and everything it started. */
  run(call: ToolCall, place: ToolPlace, signal: AbortSignal): Promise<ToolAnswer>;
  /**
   * The configured MCP servers as ACP has them, for agents to use. Their variables and headers hold
   * secrets in plain text: of this only names may be stored or shown.
   */
  readonly servers: readonly JsonObject[];
  close(): Promise<void>;
}

export interface ToolInfo {
  readonly name: string;
  readonly description: string;
}

export interface ToolCall {
  readonly name: string;
  /** A line for people that says what will be done. */
  readonly title: string;
  /** ACP's kind, from which its risk is known. */
  readonly kind: "read" | "edit" | "execute" | "other";
  readonly input: JsonObject;
  /** Files that it touches, as ACP has locations: absolute, so that rules can be told apart. */
  readonly locations: readonly { readonly path: string }[];
}

export interface ToolPlace {
  /** Nothing outside is read or written, by real path. */
  readonly workspaceCwd: string;
  /** Where commands run and relative paths begin. */
  readonly cwd: string;
}

export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
}

export function answered(text: string): ToolAnswer {
  return { isError: false, text: bounded(text) };
}

export function failed(text: string): ToolAnswer {
  return { isError: true, text: bounded(text) };
}

/** The same sentence that a caller of the server would read. */
export function failedBy(refusal: Refusal): ToolAnswer {
  return failed(String(errorBody(refusal).error));
}

/** The beginning of a text that is too long, with a note of how much is missing. */
function bounded(text: string): string {
  const kept = cutText(text, TOOL_ANSWER_CHARS_MAX);
  const leftOut = text.length - kept.length;
  return leftOut === 0 ? text : `${kept}\n[${leftOut} more characters were left out]`;
}

export const CALLED_OFF = "It was called off.";

/**
 * The JSON object that these words are; null if they are none. Braces alone do not make one: a
 * command line may begin with them, too.
 */
export function objectIn(words: string): JsonObject | null {
  if (!words.trimStart().startsWith("{") || isNestedDeeper(words, RPC_NESTING_MAX)) return null;
  try {
    const value: unknown = JSON.parse(words);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

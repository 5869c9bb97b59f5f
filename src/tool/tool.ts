import { errorBody, type Refusal } from "../core/error.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { RPC_NESTING_MAX, TOOL_ANSWER_CHARS_MAX } from "../core/limits.ts";
import type { Result } from "../core/result.ts";
import { cutText } from "../core/text.ts";
import { isNestedDeeper } from "../wire/json.ts";

/**
 * Tools that run without a model, when a client calls a skill that dispatches to one: the built-in
 * ones, and those of the configured MCP servers. The session decides whether a call is allowed.
 */
export interface Tools {
  /**
   * The tools that can be called now: built-in ones by name, others as `server:tool`. If all wanted
   * names are built-in, no MCP server is asked, which could take a while.
   */
  list(wanted?: readonly string[]): Promise<readonly ToolInfo[]>;
  /**
   * Parses a text from a client into a call. It is refused with `tool_unknown`, `tool_unavailable`
   * (its server cannot be reached) or `tool_input_invalid`.
   */
  callOf(name: string, text: string, context: ToolContext): Promise<Result<ToolCall>>;
  /** Runs a call; a failure is an answer, too. The signal ends the call and its processes. */
  run(call: ToolCall, context: ToolContext, signal: AbortSignal): Promise<ToolAnswer>;
  /**
   * The configured MCP servers in the form of ACP, for agents. Their variables and headers hold
   * secrets in plain text: only their names may be stored or shown.
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
  /** A line that tells people what the call does. */
  readonly title: string;
  /** The kind of ACP, which decides the risk. */
  readonly kind: "read" | "edit" | "execute" | "other";
  readonly input: JsonObject;
  /** The files that it touches, with absolute paths, as rules compare them. */
  readonly locations: readonly { readonly path: string }[];
}

export interface ToolContext {
  /** No file outside is read or written, by real path. */
  readonly workspaceCwd: string;
  /** The working directory of commands, and the base of relative paths. */
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

/** Words the refusal as the server's error body does. */
export function failedBy(refusal: Refusal): ToolAnswer {
  return failed(String(errorBody(refusal).error));
}

/** Cuts a long text, and notes how many characters are missing. */
function bounded(text: string): string {
  const kept = cutText(text, TOOL_ANSWER_CHARS_MAX);
  const leftOut = text.length - kept.length;
  return leftOut === 0 ? text : `${kept}\n[${leftOut} more characters were left out]`;
}

/** Parses a JSON object; null for any other text, such as a command line that begins with `{`. */
export function parseObject(text: string): JsonObject | null {
  if (!text.trimStart().startsWith("{") || isNestedDeeper(text, RPC_NESTING_MAX)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

import { TERMINAL_CALL_CONTENT_CHARS_MAX } from "../../core/limits.ts";

/** The content of a tool call, to be said again; null if that is too much to keep. */
export function keptContent(content: unknown): readonly unknown[] | null {
  if (!Array.isArray(content)) return null;
  return JSON.stringify(content).length <= TERMINAL_CALL_CONTENT_CHARS_MAX ? content : null;
}

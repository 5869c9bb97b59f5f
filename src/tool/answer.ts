import { errorBody, type Refusal } from "../core/error.ts";
import { TOOL_ANSWER_CHARS_MAX } from "../core/limits.ts";
import { cutText } from "../core/text.ts";
import type { ToolAnswer } from "./tool.ts";

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

import type { JsonObject } from "../../json.ts";
import { SLASH_ANSWER_CHARS_MAX, SLASH_LISTED_MAX, SLASH_NAME_CHARS_MAX } from "../../limits.ts";
import type { CommandResult } from "../../session/event.ts";
import { bounded, oneLine } from "../plain.ts";

/** A command did what it is for. */
export function done(code: string, message: string, data?: JsonObject): CommandResult {
  return answer("ok", code, message, data);
}

/** A command changed nothing, and this is why. */
export function failed(code: string, message: string, data?: JsonObject): CommandResult {
  return answer("error", code, message, data);
}

function answer(
  status: CommandResult["status"],
  code: string,
  message: string,
  data?: JsonObject,
): CommandResult {
  const text = bounded(message, SLASH_ANSWER_CHARS_MAX);
  return { status, code, message: text, ...(data !== undefined && { data }) };
}

/** A name that somebody chose, in a sentence. */
export function shownName(name: string): string {
  return oneLine(name, SLASH_NAME_CHARS_MAX);
}

/** The first of many, as many as one answer lists. */
export function listed<Item>(items: readonly Item[]): readonly Item[] {
  return items.slice(0, SLASH_LISTED_MAX);
}

/** The line that says that a list goes on; none if it does not. */
export function leftOut(items: readonly unknown[]): readonly string[] {
  const count = items.length - SLASH_LISTED_MAX;
  return count > 0 ? [`… and ${count} more`] : [];
}

/** A heading and its lines, if it has any. */
export function section(heading: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];
}

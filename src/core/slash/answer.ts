import type { JsonObject } from "../json.ts";
import { SLASH_ANSWER_CHARS_MAX, SLASH_LISTED_MAX, SLASH_NAME_CHARS_MAX } from "../limits.ts";
import type { CommandResult } from "../session/event.ts";
import { cutText } from "../text.ts";

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

/** A foreign name, for a sentence. */
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

/** Characters that would move a cursor, ring a bell, begin a line or turn one around. */
const UNSHOWN = /[\s\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** How much of a text is looked at for the sake of a line; the rest would be cut anyway. */
const LOOKED_AT = 4;

/** A foreign text as part of one line in a terminal, not longer than it may be. */
export function oneLine(text: string, charsMax: number): string {
  const seen = cutText(text, LOOKED_AT * charsMax);
  const line = seen.toWellFormed().replace(UNSHOWN, " ").trim();
  const isWhole = line.length <= charsMax && seen.length === text.length;
  return isWhole ? line : `${cutText(line, charsMax - 1)}…`;
}

/** The beginning of a text of many lines, with a word about what is missing. */
export function bounded(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text.toWellFormed();
  const note = `\n… (the beginning of ${text.length} characters)`;
  return cutText(text, charsMax - note.length).toWellFormed() + note;
}

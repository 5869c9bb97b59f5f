import type { ContentBlock } from "../agent-update.ts";
import { stringAt } from "../json.ts";
import { SLASH_WORDS_MAX } from "../limits.ts";

/** A line that begins with `/`, taken apart; nothing is known yet of what it names. */
export interface SlashLine {
  readonly name: string;
  /** Its words, as far as anybody looks at them. */
  readonly args: readonly string[];
  /** All that follows the name, as it was written. */
  readonly rest: string;
}

/** The text that is a command and not conversation: the very first character decides (B8.1). */
export function slashTextOf(content: readonly ContentBlock[]): string | null {
  const [first] = content;
  if (first?.type !== "text") return null;
  const text = stringAt(first, "text");
  return text?.startsWith("/") ? text : null;
}

/** Null if no name follows the slash at once. */
export function readSlash(text: string): SlashLine | null {
  if (!text.startsWith("/")) return null;
  const { word: name, rest } = firstWord(text.slice(1));
  if (name === "") return null;
  return { name, args: wordsOf(rest), rest };
}

/** What stands before the first whitespace, and what after it. */
export function firstWord(text: string): { readonly word: string; readonly rest: string } {
  const end = text.search(/\s/u);
  if (end === -1) return { word: text, rest: "" };
  return { word: text.slice(0, end), rest: text.slice(end).trimStart() };
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/u, SLASH_WORDS_MAX).filter((word) => word !== "");
}

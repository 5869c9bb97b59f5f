import type { ContentBlock } from "../agent-update.ts";
import { TITLE_CHARS_MAX } from "../limits.ts";
import { slashTextOf } from "../slash/commands.ts";
import { cutText } from "../text.ts";
import type { Session } from "./state.ts";

interface PromptWords {
  /** The beginning of the prompt's text, with secrets removed. */
  readonly text: string;
  readonly content: readonly ContentBlock[];
}

/**
 * What a session is called after its first prompt: the prompt's first words, on one line. Null
 * for a prompt that has no words of its own, such as a picture or a command.
 */
export function titleOf({ text, content }: PromptWords): string | null {
  if (slashTextOf(content) !== null) return null;
  const line = text.toWellFormed().replace(NO_WORDS, " ").trim();
  return cutText(line, TITLE_CHARS_MAX).trimEnd() || null;
}

/** White space, control characters, and those that change the direction of what follows them. */
const NO_WORDS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** The name that was given to a session, or else what its first prompt says. */
export function nameOf({ chosen, title }: Session): string | null {
  return chosen.displayName ?? title ?? null;
}

import { type ContentBlock, promptText } from "../agent-update.ts";
import { TITLE_CHARS_MAX } from "../limits.ts";
import { slashTextOf } from "../slash/commands.ts";
import { cutText } from "../text.ts";
import type { Session } from "./state.ts";

/**
 * What a session is called after its first prompt: the prompt's first words, on one line. Null
 * for a prompt that has no words of its own, such as a picture or a command. Secrets are removed
 * before anything is cut, and again from the line, whose words may have been on several lines.
 */
export function titleOf(
  content: readonly ContentBlock[],
  redact: (text: string) => string,
): string | null {
  if (slashTextOf(content) !== null) return null;
  const line = redact(redact(promptText(content)).toWellFormed().replace(NO_WORDS, " "));
  return cutText(line.trim(), TITLE_CHARS_MAX).trimEnd() || null;
}

/** White space, control characters, and those that change the direction of what follows them. */
const NO_WORDS = /[\s\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu;

/** The name that was given to a session, or else what its first prompt says. */
export function nameOf({ chosen, title }: Session): string | null {
  return chosen.displayName ?? title ?? null;
}

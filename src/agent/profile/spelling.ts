import { AGENT_PROFILE_TEXT_CHARS_MAX } from "../../core/limits.ts";
import { fail, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_MARK_VARIABLE } from "../process/environment.ts";

/** How the names and texts of a profile are written, in a file or on the command line. */
export const PROFILE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export function invalid(profile: string, path: string, reason: string): Result<never> {
  return fail("invalid_agent_profile", { profile, path, reason });
}

export function variableFault(name: string): string | null {
  if (!VARIABLE.test(name)) return "it is not a variable's name";
  return name === AGENT_MARK_VARIABLE ? "this variable is Fermata's own" : null;
}

/** What is wrong with a text for the system; null if nothing is. */
export function textFault(text: string): string | null {
  if (text.length > AGENT_PROFILE_TEXT_CHARS_MAX) {
    return `it has more than ${AGENT_PROFILE_TEXT_CHARS_MAX} characters`;
  }
  if (/\p{Cc}/u.test(text)) return "it has control characters";
  return text.isWellFormed() ? null : "it has half a character";
}

/** A name of the configuration, made safe for a message. */
export function shown(name: string): string {
  return cutText(name, SHOWN_CHARS_MAX).replace(/\p{Cc}/gu, "?");
}

const SHOWN_CHARS_MAX = 64;

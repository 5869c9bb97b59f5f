import { createHash } from "node:crypto";
import { AUDIT_AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";

/**
 * A short name for what is none of the audit's: equal texts have equal names, so that entries can
 * be told apart and put together by somebody who knows the text already.
 */
export function hashName(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_NAME_CHARS);
}

const HASH_NAME_CHARS = 16;

/**
 * What an agent calls something, if that is a name. Agents may put whatever they like there, also
 * what they have read: anything that is not short and plain is told by its hash (P11).
 */
export function agentName(text: string): string {
  const isName = text.length <= AUDIT_AGENT_NAME_CHARS_MAX && PLAIN.test(text);
  return isName ? text : `sha256:${hashName(text)}`;
}

const PLAIN = /^[\w.:-]+$/;

import { APPROVAL_KEY_CHARS_MAX } from "../limits.ts";
import { isExactKey } from "./approval-key.ts";

export function allowlisted(keys: readonly string[], patterns: readonly string[]): boolean {
  if (keys.length === 0) return patterns.includes("*");
  return keys.every((key) => patterns.some((one) => matches(one, key)));
}

/** Whether it can be granted or matched at all: what is longer, people look at each time. */
export function isGrantable(key: string): boolean {
  return key.length <= APPROVAL_KEY_CHARS_MAX;
}

/**
 * A pattern is a key in which `*` stands for anything; the lone `*` allows everything. Elsewhere
 * `*` must not smuggle: `execute:git *` does not allow `git log; rm -rf .`, and `edit:/src/*`
 * does not allow `/src/../secret`. A key that holds a whole call is compared as it is.
 */
export function matches(pattern: string, key: string): boolean {
  if (pattern === "*") return true;
  if (!isGrantable(key)) return false;
  if (pattern === key) return true;
  return !isExactKey(key) && isPlain(key) && matchesGlob(pattern, key);
}

/** Control characters, line separators, and surrogates that no encoding can carry. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u;

/** What is not known to be something else is taken for a command line. */
const NOT_A_COMMAND = /^(?:read|edit|delete|move|search|think|fetch|switch_mode):/;
const SHELL_OPERATOR = /[;&|<>$`(){}\\]/;

/** `..` as a segment of its own, also as it is written in addresses. */
const CLIMB = /(?:^|[\\/]|%2f|%5c)(?:\.|%2e){2}(?:$|[\\/?#]|%2f|%5c)/i;

/** `..` after a slash, or a wildcard that a shell may read as one. `./...` is no climb. */
const CLIMB_IN_COMMAND = /\/\.(?:\.(?![^\s/])|[?*[])/;

function isPlain(key: string): boolean {
  if (UNPRINTABLE.test(key)) return false;
  const subject = key.slice(key.indexOf(":") + 1);
  if (NOT_A_COMMAND.test(key)) return !CLIMB.test(subject);
  const unquoted = subject.replaceAll(/["']/g, "");
  return !SHELL_OPERATOR.test(subject) && !CLIMB_IN_COMMAND.test(unquoted);
}

/** Two pointers and one place to go back to: at worst the product of the lengths. */
function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  let star = -1;
  let afterStar = 0;
  while (at < text.length) {
    if (pattern[inPattern] === "*") {
      star = inPattern++;
      afterStar = at;
    } else if (pattern[inPattern] === text[at]) {
      inPattern += 1;
      at += 1;
    } else if (star >= 0) {
      inPattern = star + 1;
      at = ++afterStar;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === "*") inPattern += 1;
  return inPattern === pattern.length;
}

import { isObject, type JsonObject, objectAt, stringAt } from "../json.ts";
import { APPROVAL_KEY_CHARS_MAX, APPROVAL_KEYS_MAX } from "../limits.ts";

/**
 * What a tool call wants, as short texts that patterns and grants are compared with: its kind and
 * its subject, `execute:git status` or `edit:/src/main.ts`. A call that touches several places
 * has several keys, and is allowed only if every one of them is. A call that does not say what it
 * touches, or at too great length, has none: people may allow it once, and no pattern or grant
 * but the lone `*` can.
 */
export function approvalKeys(toolCall: JsonObject): readonly string[] {
  const kind = stringAt(toolCall, "kind") ?? "other";
  const subjects = kind === "execute" ? [commandLine(toolCall)] : places(toolCall);
  const told = subjects.length <= APPROVAL_KEYS_MAX && subjects.every((one) => one.trim() !== "");
  const keys = subjects.map((subject) => `${kind}:${subject}`);
  const short = keys.every((key) => key.length <= APPROVAL_KEY_CHARS_MAX);
  return told && short && KIND.test(kind) ? [...new Set(keys)] : [];
}

/** A kind with a colon could pass for another kind and the beginning of its subject. */
const KIND = /^[^:]+$/;

/** The whole command with its arguments; empty if it has a form that cannot be read. */
function commandLine(toolCall: JsonObject): string {
  const { command, args = [] } = objectAt(toolCall, "rawInput") ?? {};
  if (command === undefined) return titleOf(toolCall);
  const words = [command, args].flat();
  return words.every((word) => typeof word === "string") ? words.join(" ") : "";
}

function places(toolCall: JsonObject): readonly string[] {
  const { locations } = toolCall;
  const paths = Array.isArray(locations) ? locations.map(pathOf) : [];
  return paths.length > 0 ? paths : [titleOf(toolCall)];
}

function pathOf(location: unknown): string {
  return (isObject(location) ? stringAt(location, "path") : null) ?? "";
}

function titleOf(toolCall: JsonObject): string {
  return stringAt(toolCall, "title") ?? "";
}

export function allowlisted(keys: readonly string[], patterns: readonly string[]): boolean {
  if (keys.length === 0) return patterns.includes("*");
  return keys.every((key) => patterns.some((one) => matches(one, key)));
}

/**
 * A pattern is a key in which `*` stands for anything; the lone `*` allows everything. Elsewhere
 * `*` must not smuggle: `execute:git *` does not allow `git log; rm -rf .`, and `edit:/src/*`
 * does not allow `/src/../secret`.
 */
export function matches(pattern: string, key: string): boolean {
  if (pattern === "*") return true;
  if (pattern === key) return true;
  return isPlain(key) && matchesGlob(pattern, key);
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

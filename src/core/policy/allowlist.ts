import { isObject, type JsonObject, objectAt, stringAt } from "../json.ts";
import { APPROVAL_KEY_CHARS_MAX } from "../limits.ts";

/**
 * What a tool call wants, as short texts that patterns and grants are compared with: its kind and
 * its subject, `execute:git status` or `edit:/src/main.ts`. A call that touches several places
 * has several keys, and is allowed only if every one of them is.
 */
export function approvalKeys(toolCall: JsonObject): readonly string[] {
  const kind = stringAt(toolCall, "kind") ?? "other";
  return subjects(toolCall, kind).map((subject) => `${kind}:${subject}`);
}

function subjects(toolCall: JsonObject, kind: string): readonly string[] {
  const title = stringAt(toolCall, "title") ?? "";
  if (kind === "execute") {
    const input = objectAt(toolCall, "rawInput");
    return [(input === null ? null : stringAt(input, "command")) ?? title];
  }
  const { locations } = toolCall;
  const paths = Array.isArray(locations) ? locations.map(pathOf) : [];
  return paths.length > 0 ? paths : [title];
}

/** A location without a path stands for anywhere, which only the lone `*` allows. */
function pathOf(location: unknown): string {
  return (isObject(location) ? stringAt(location, "path") : null) ?? "..";
}

export function allowlisted(keys: readonly string[], patterns: readonly string[]): boolean {
  return keys.length > 0 && keys.every((key) => patterns.some((one) => matches(one, key)));
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

const SHELL_CONTROL = /[;&|<>$`(){}\\\n\r]/;
const CONTROL_CHARACTER = /\p{Cc}/u;

function isPlain(key: string): boolean {
  if (key.length > APPROVAL_KEY_CHARS_MAX || CONTROL_CHARACTER.test(key)) return false;
  if (key.startsWith("execute:")) return !SHELL_CONTROL.test(key);
  return !key
    .slice(key.indexOf(":") + 1)
    .split("/")
    .includes("..");
}

/** Two pointers and one place to go back to: linear in practice, never exponential. */
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

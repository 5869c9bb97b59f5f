import { AGENT_NAME_CHARS_MAX } from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";

/**
 * The names under which a price may stand for a model that an agent names, the closest first.
 * Agents wrap the names that providers have: `provider/model`, `$runtime|openai|model(openai)`,
 * `model[medium]`, `us.anthropic.model-v1:0`; and providers add dates and versions.
 */
export function modelNames(model: string): readonly string[] {
  const found = new Set<string>([cutText(model, AGENT_NAME_CHARS_MAX)]);
  for (const step of UNWRAPPING) {
    for (const name of [...found]) for (const inner of step(name)) add(found, inner);
  }
  return [...found];
}

/** More would be none that an agent has given in good faith. */
const NAMES_MAX = 64;

function add(found: Set<string>, name: string) {
  if (name !== "" && found.size < NAMES_MAX) found.add(name);
}

/** What is inside a name; each step looks at all names that there are so far. */
const UNWRAPPING: readonly ((name: string) => readonly string[])[] = [
  (name) => [name.slice(name.lastIndexOf("|") + 1)],
  (name) => (name.endsWith(")") ? [before(name, "(")] : []),
  (name) => (name.endsWith("]") ? [before(name, "[")] : []),
  (name) => name.split("/").map((_, at, parts) => parts.slice(at).join("/")),
  without(/^(?:[a-z][a-z0-9-]*\.)+(?=[a-z])/),
  (name) => [before(name, ":")],
  without(/-v\d{1,3}$/),
  without(/[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$/),
  without(/-latest$/),
  // Some write 4.5 where the provider writes 4-5.
  (name) => [name.replaceAll(/(?<=\d)\.(?=\d)/g, "-")],
];

/** The part before the last of these marks; all of it if there is none. */
function before(name: string, mark: string): string {
  const at = name.lastIndexOf(mark);
  return at < 0 ? name : name.slice(0, at);
}

function without(part: RegExp): (name: string) => readonly string[] {
  return (name) => [name.replace(part, "")];
}

/** Whether a name is that of a price row; a `*` in the row stands for any characters. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

export function isPattern(name: string): boolean {
  return name.includes("*");
}

/** Patterns with more characters of their own come first, so that the closest one counts. */
export function bySpecificity(one: string, other: string): number {
  return literals(other) - literals(one) || (one < other ? -1 : 1);
}

function literals(pattern: string): number {
  return pattern.replaceAll("*", "").length;
}

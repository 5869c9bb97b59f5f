import { ArgumentReader } from "./argument-reader.ts";
import { type Directive, LANGUAGE, type Verb } from "./language.ts";
import { SCRIPT_DIRECTIVES_MAX } from "./limits.ts";

export type Script =
  /** No script at all: it is said back. */
  | { readonly kind: "plain" }
  | { readonly kind: "directives"; readonly directives: readonly Directive[] }
  /** It began as a script and is none: nothing of it is done, and the sentence is said. */
  | { readonly kind: "fault"; readonly sentence: string };

/**
 * A text whose first line begins with a directive is a script, one directive a line; empty lines
 * and those that begin with # are passed over. Every other text is plain.
 */
export function readScript(text: string): Script {
  const lines = text.split(/\r?\n/);
  if (verbOf(lines[0] ?? "") === null) return { kind: "plain" };
  const directives: Directive[] = [];
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const read = readDirective(trimmed);
    if (typeof read === "string") return faultAt(index, read);
    if (directives.length === SCRIPT_DIRECTIVES_MAX) {
      return faultAt(index, `a script has at most ${SCRIPT_DIRECTIVES_MAX} directives`);
    }
    directives.push(read);
  }
  return { kind: "directives", directives };
}

function faultAt(index: number, why: string): Script {
  return { kind: "fault", sentence: `line ${index + 1} of the script: ${why}` };
}

/** The directive, or a sentence that says why it is none. */
function readDirective(line: string): Directive | string {
  const verb = verbOf(line);
  if (verb === null) return `${JSON.stringify(firstWord(line))} is no directive; try: help`;
  const from = new ArgumentReader(line.slice(verb.length));
  const directive = readAs(verb, from);
  from.end();
  if (from.fault === null) return directive;
  return `${from.fault}; it is written: ${LANGUAGE[verb].usage}`;
}

/** A function of its own, so that the verb and its arguments stay together for the compiler. */
function readAs<V extends Verb>(verb: V, from: ArgumentReader): Directive<V> {
  return { verb, args: LANGUAGE[verb].read(from) } as Directive<V>;
}

function verbOf(line: string): Verb | null {
  const word = firstWord(line);
  return isVerb(word) ? word : null;
}

function isVerb(word: string): word is Verb {
  return Object.hasOwn(LANGUAGE, word);
}

function firstWord(line: string): string {
  return /^\S*/.exec(line)?.[0] ?? "";
}

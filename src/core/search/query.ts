import {
  SEARCH_BEGINNING_CHARS_MIN,
  SEARCH_QUERY_CHARS_MAX,
  SEARCH_QUERY_WORDS_MAX,
} from "../limits.ts";
import { fail, ok, type Result } from "../result.ts";
import { entriesOf, type TextWord, wordsIn } from "./words.ts";

/** What a text has to have in it to be found: all of these. */
export type Sought = readonly Term[];

export interface Term {
  readonly text: string;
  /** A whole word, one that begins so, or characters that follow each other in a run. */
  readonly kind: "whole" | "beginning" | "run";
}

/** Reads a query. It is words and nothing else: there are no operators to be learnt or escaped. */
export function readSought(query: string): Result<Sought> {
  if (query.length > SEARCH_QUERY_CHARS_MAX) {
    return fail("invalid_search", {
      reason: `it has more than ${SEARCH_QUERY_CHARS_MAX} characters`,
    });
  }
  const terms = new Map<string, Term>();
  for (const word of wordsIn(query)) {
    const term = termOf(word);
    terms.set(`${term.kind} ${term.text}`, term);
  }
  if (terms.size === 0) return fail("invalid_search", { reason: "it has no word" });
  if (terms.size > SEARCH_QUERY_WORDS_MAX) {
    return fail("invalid_search", { reason: `it has more than ${SEARCH_QUERY_WORDS_MAX} words` });
  }
  return ok([...terms.values()]);
}

function termOf({ text, isRun }: TextWord): Term {
  if (isRun) return { text, kind: "run" };
  return { text, kind: text.length < SEARCH_BEGINNING_CHARS_MIN ? "whole" : "beginning" };
}

/** Where a word of a text has this term in it: characters of the text, or null. */
export function marked(term: Term, word: TextWord, text: string): readonly [number, number] | null {
  if (term.kind === "run") return word.isRun ? markedInRun(term, word) : null;
  if (word.isRun || !mayHave(term, word)) return null;
  const fits = entriesOf(word, text).findIndex((entry) =>
    term.kind === "whole" ? entry === term.text : entry.startsWith(term.text),
  );
  return fits < 0 ? null : [word.start, word.end];
}

/** Most words of a text are not looked at any closer. */
function mayHave(term: Term, word: TextWord): boolean {
  return word.text.includes(term.text);
}

function markedInRun({ text }: Term, word: TextWord): readonly [number, number] | null {
  const at = word.text.indexOf(text);
  if (at < 0) return null;
  // Where characters were compared as others, nothing says which of them are meant.
  const isAsWritten = word.text.length === word.end - word.start;
  return isAsWritten ? [word.start + at, word.start + at + text.length] : [word.start, word.end];
}

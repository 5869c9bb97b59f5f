import { SEARCH_WORD_CHARS_MAX, SEARCH_WORD_HUMPS_MAX } from "../limits.ts";

/** A word of a text as it is compared, and where it stands in the text as that was written. */
export interface TextWord {
  /** In lower case, without accents. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** From a script that puts no spaces between its words: a run of its characters. */
  readonly isRun: boolean;
}

/**
 * The words of a text. Everything but letters, digits and their marks stands between two words, so
 * paths and names with underscores fall apart by themselves.
 */
export function* wordsIn(text: string): Generator<TextWord> {
  for (const { 0: written, index } of text.matchAll(WORD)) {
    if (PLAIN.test(written)) yield wordOf(written, index, false);
    else yield* partsOf(written, index);
  }
}

/** Where scripts meet, as in `Fermataの検索`, there is a word on each side. */
function* partsOf(written: string, start: number): Generator<TextWord> {
  let done = 0;
  for (const { 0: run, index } of written.matchAll(RUN)) {
    if (index > done) yield* ifAny(wordOf(written.slice(done, index), start + done, false));
    yield* ifAny(wordOf(run, start + index, true));
    done = index + run.length;
  }
  if (done < written.length) yield* ifAny(wordOf(written.slice(done), start + done, false));
}

function wordOf(written: string, start: number, isRun: boolean): TextWord {
  return { text: compared(written), start, end: start + written.length, isRun };
}

/** Of some characters nothing is left once they are compared. */
function* ifAny(word: TextWord): Generator<TextWord> {
  if (word.text !== "") yield word;
}

/**
 * What one word is found by: a run by each pair of its characters, since nothing says where its
 * words are; any other word by itself, and where it has humps, as `fixLoginBug` has, also from each
 * of them on.
 */
export function entriesOf(word: TextWord, text: string): readonly string[] {
  if (word.isRun) return pairsOf(word.text);
  const written = text.slice(word.start, word.end);
  return [word.text, ...humpsOf(written).map((at) => compared(written.slice(at)))];
}

/** Everything by which a text is found, each once. It is made at the end of each turn. */
export function entriesIn(text: string): ReadonlySet<string> {
  const entries = new Set<string>();
  const seen = new Set<string>();
  for (const written of text.match(ROUGHLY) ?? []) {
    if (seen.has(written)) continue;
    seen.add(written);
    const lower = written.toLowerCase();
    // Most are one word, without a hump and with nothing that is compared as something else.
    if (PLAIN.test(written) && lower.slice(1) === written.slice(1)) {
      entries.add(lower.slice(0, SEARCH_WORD_CHARS_MAX));
      continue;
    }
    for (const part of wordsIn(written)) {
      for (const entry of entriesOf(part, written)) entries.add(entry);
    }
  }
  return entries;
}

/** Where the parts of a word begin that is written in humps, after the first. */
function humpsOf(written: string): readonly number[] {
  if (!HAS_HUMP.test(written)) return NONE;
  const humps = [...written.matchAll(HUMP)].map(({ index }) => index);
  return humps.slice(0, SEARCH_WORD_HUMPS_MAX);
}

/** Each pair of characters that follow each other, and the last one alone. */
export function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

/** As two spellings of a word are compared. What is longer than words are is cut off. */
function compared(written: string): string {
  const text = PLAIN.test(written) ? written : withoutAccents(written);
  return text.toLowerCase().slice(0, SEARCH_WORD_CHARS_MAX).toWellFormed();
}

function withoutAccents(written: string): string {
  const parts = written.normalize("NFKD").toLowerCase().replace(DROPPED, "").replaceAll("ς", "σ");
  return parts.normalize("NFKC");
}

const NONE: readonly number[] = [];

const PLAIN = /^[\x20-\x7e]*$/;

/**
 * Accents, of the scripts that have them: the marks of others are letters of their own. And what
 * some characters are made of that is no letter, such as the parentheses of a number in them.
 */
const DROPPED = /[\u0300-\u036f\0-\x2f:-@[-`{-\x7f]+/g;

/** One word, or some with nothing of ASCII between them: these are sooner found than words. */
const ROUGHLY = /[0-9A-Za-z\u0080-\uffff]+/g;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Scripts without spaces: Chinese, Japanese (two of its own), Thai, Lao, Khmer and Burmese. */
const RUN =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]+/gu;

const HAS_HUMP = /.\p{Lu}/u;

/** Between `x` and `L` of `fixLogin`, and between `P` and `S` of `HTTPServer`. */
const HUMP = /(?<=[\p{Ll}\p{N}])\p{Lu}|(?<=\p{Lu})\p{Lu}(?=\p{Ll})/gu;

import { SEARCH_WORD_CHARS_MAX, SEARCH_WORD_PARTS_MAX } from "../limits.ts";

/** A word of a text as it is compared, and where it stands in the text as that was written. */
export interface Word {
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
export function* wordsIn(text: string): Generator<Word> {
  for (const { 0: written, index: start } of text.matchAll(WORD)) {
    const isRun = RUN.test(written);
    const word = compared(written);
    if (word !== "") yield { text: word, start, end: start + written.length, isRun };
  }
}

/**
 * What one word is found by: a run by each pair of its characters, since nothing says where its
 * words are; any other word by itself, and where it has humps, as `fixLoginBug` has, also from each
 * of them on.
 */
export function entriesOf(word: Word, text: string): readonly string[] {
  if (word.isRun) return pairsOf(word.text);
  const written = text.slice(word.start, word.end);
  return [word.text, ...humpsOf(written).map((at) => compared(written.slice(at)))];
}

/** Where the parts of a word begin that is written in humps, after the first. */
export function humpsOf(written: string): readonly number[] {
  if (!HAS_HUMP.test(written)) return NONE;
  const humps = [...written.matchAll(HUMP)].map(({ index }) => index);
  return humps.slice(0, SEARCH_WORD_PARTS_MAX);
}

/** Each pair of characters that follow each other, and the last one alone. */
export function pairsOf(run: string): readonly string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

/** As two spellings of a word are compared. What is longer than words are is cut off. */
export function compared(written: string): string {
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

/** The scripts without spaces: Chinese, Japanese, Thai, Lao, Khmer and Burmese. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}";

const LETTER = "\\p{L}\\p{N}\\p{M}";

const RUN = new RegExp(`^[[${UNSPACED}]&&[${LETTER}]]`, "v");

const WORD = new RegExp(
  `[[${UNSPACED}]&&[${LETTER}]]+|[[${LETTER}]--[[${UNSPACED}]&&[${LETTER}]]]+`,
  "gv",
);

const HAS_HUMP = /.\p{Lu}/u;

/** Between `x` and `L` of `fixLogin`, and between `P` and `S` of `HTTPServer`. */
const HUMP = /(?<=[\p{Ll}\p{N}])\p{Lu}|(?<=\p{Lu})\p{Lu}(?=\p{Ll})/gu;

import type { SecretSpelling, SecretSpellings } from "./secret-spelling.ts";

/** What a filter looks for, as it can be sent to a thread. */
export interface SecretPatterns {
  /** Sources of patterns. */
  readonly plain: readonly string[];
  readonly base64: readonly string[];
  /** The shortest secret in base64 has so many letters. */
  readonly lettersMin: number;
}

export function secretPatterns(secrets: readonly SecretSpellings[]): SecretPatterns {
  const base64 = secrets.flatMap((secret) => secret.base64);
  return {
    plain: patternsOf(secrets.map(({ plain }) => plain)),
    base64: patternsOf(base64),
    lettersMin: base64.reduce((least, { length }) => Math.min(least, length), Infinity),
  };
}

/** Spellings in one pattern, in order: V8 is fastest if few of them begin alike. */
const PATTERN_SPELLINGS_MAX = 64;

/**
 * Tells quickly whether a text may hold a secret: every event passes here. It never misses one, and
 * looks for base64 only in a text that has so many of its letters in a row.
 */
export class SecretFilter {
  readonly #plain: readonly RegExp[];
  readonly #base64: readonly RegExp[];
  readonly #lettersMin: number;

  constructor({ plain, base64, lettersMin }: SecretPatterns) {
    this.#plain = plain.map((source) => new RegExp(source));
    this.#base64 = base64.map((source) => new RegExp(source));
    this.#lettersMin = lettersMin;
  }

  mayHold(text: string): boolean {
    if (isIn(this.#plain, text)) return true;
    return hasLetters(text, this.#lettersMin) && isIn(this.#base64, text);
  }
}

function isIn(patterns: readonly RegExp[], text: string): boolean {
  for (const pattern of patterns) if (pattern.test(text)) return true;
  return false;
}

function patternsOf(spellings: readonly SecretSpelling[]): readonly string[] {
  const beginnings = spellings.map(({ beginning }) => beginning).sort();
  const groups = Math.ceil(beginnings.length / PATTERN_SPELLINGS_MAX);
  return Array.from({ length: groups }, (_, group) => {
    const from = group * PATTERN_SPELLINGS_MAX;
    return beginnings.slice(from, from + PATTERN_SPELLINGS_MAX).join("|");
  });
}

/** Whether a text has so many letters in a row. It looks from the end of where they could be. */
function hasLetters(text: string, count: number): boolean {
  for (let last = count - 1; last < text.length; ) {
    let at = last;
    while (last - at < count && LETTERS[text.charCodeAt(at)] === 1) at -= 1;
    if (last - at >= count) return true;
    last = at + count;
  }
  return false;
}

/** The letters of base64, and those by which an encoder may write some of them. */
const LETTERS = new Uint8Array(65_536);
for (const letter of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_%\\") {
  LETTERS[letter.charCodeAt(0)] = 1;
}

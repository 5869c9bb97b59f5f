import type { SecretSpelling, SecretSpellings } from "./secret-spelling.ts";
import { TextSearch } from "./text-search.ts";

/** What a filter looks for, as it can be sent to a thread. */
export interface SecretPatterns {
  /** Each of those spellings that have an anchor has one of these. */
  readonly anchors: readonly string[];
  /** Their beginnings, and those of all others, as sources of patterns. */
  readonly anchored: readonly string[];
  readonly others: readonly string[];
}

export function secretPatterns(secrets: readonly SecretSpellings[]): SecretPatterns {
  const spellings = secrets.flatMap(({ plain, base64 }) => [plain, ...base64]);
  const { anchored = [], others = [] } = Object.groupBy(spellings, ({ anchor }) =>
    anchor.length >= ANCHOR_CHARS_MIN ? "anchored" : "others",
  );
  // Secrets of one kind may begin alike, and then are one thing to look for.
  const anchors = [...new Set(anchored.map(({ anchor }) => anchor.slice(0, ANCHOR_CHARS_MAX)))];
  return { anchors, anchored: patternsOf(anchored), others: patternsOf(others) };
}

/** The shortest of all anchors says how fast texts are searched for them. */
const ANCHOR_CHARS_MIN = 6;

/** More of one is not looked for: the patterns tell what is behind it. */
const ANCHOR_CHARS_MAX = 32;

/** Spellings in one pattern, in order: V8 is fastest if few of them begin alike. */
const PATTERN_SPELLINGS_MAX = 64;

/**
 * Tells quickly whether a text may hold a secret: every event passes here. It never misses one.
 * Most spellings have a part that is always the same, and patterns are tried only where one is.
 */
export class SecretFilter {
  readonly #anchors: TextSearch;
  readonly #anchored: readonly RegExp[];
  readonly #others: readonly RegExp[];

  constructor({ anchors, anchored, others }: SecretPatterns) {
    this.#anchors = new TextSearch(anchors);
    this.#anchored = anchored.map((source) => new RegExp(source));
    this.#others = others.map((source) => new RegExp(source));
  }

  mayHold(text: string): boolean {
    if (isIn(this.#others, text)) return true;
    return this.#anchors.isIn(text) && isIn(this.#anchored, text);
  }
}

function isIn(patterns: readonly RegExp[], text: string): boolean {
  for (const pattern of patterns) if (pattern.test(text)) return true;
  return false;
}

function patternsOf(spellings: readonly SecretSpelling[]): readonly string[] {
  const beginnings = [...new Set(spellings.map(({ beginning }) => beginning))].sort();
  const groups = Math.ceil(beginnings.length / PATTERN_SPELLINGS_MAX);
  return Array.from({ length: groups }, (_, group) => {
    const from = group * PATTERN_SPELLINGS_MAX;
    return beginnings.slice(from, from + PATTERN_SPELLINGS_MAX).join("|");
  });
}

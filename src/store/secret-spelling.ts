/** From where to where a secret stands in a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * All the ways in which one secret may be written. Who writes JSON escapes some characters, a
 * tool's JSON inside our JSON has them escaped again, and encoders differ in which and how. So a
 * character that any of them escapes is looked for in every spelling, up to three levels deep.
 * Base64 is not looked for: it would take three patterns for each secret, which hit by chance.
 *
 * Nothing here runs away. Every piece of a pattern ends with a character that is no backslash, so
 * there is one way to match it, and backslashes are counted up to a maximum: a text costs its
 * length. A long secret is matched piece by piece, because an engine refuses a pattern that is
 * too large, and tells everybody the pattern when it does.
 */
export class SecretSpelling {
  /** Enough of it to notice that it may be there, as the source of a pattern. */
  readonly beginning: string;
  readonly #rest: readonly string[];
  #patterns: Patterns | null = null;

  constructor(secret: string) {
    const units = (secret.match(UNIT) ?? []).map(spellingOf);
    const pieces = Array.from({ length: Math.ceil(units.length / PIECE_UNITS) }, (_, index) =>
      units.slice(index * PIECE_UNITS, (index + 1) * PIECE_UNITS).join(""),
    );
    const [beginning = "", ...rest] = pieces;
    this.beginning = beginning;
    this.#rest = rest;
  }

  isIn(text: string): boolean {
    return this.#next(text, 0) !== null;
  }

  /** Every place where it stands, in order; of places that overlap, the whole. */
  places(text: string): readonly Span[] {
    const spans: Span[] = [];
    let found = this.#next(text, 0);
    while (found !== null) {
      addSpan(spans, found);
      found = this.#next(text, found.from + 1);
    }
    return spans;
  }

  #next(text: string, start: number): Span | null {
    this.#patterns ??= compiled(this.beginning, this.#rest);
    const { first, rest } = this.#patterns;
    first.lastIndex = start;
    for (let begun = first.exec(text); begun !== null; begun = first.exec(text)) {
      const to = endOf(rest, text, first.lastIndex);
      if (to !== null) return { from: begun.index, to };
      first.lastIndex = begun.index + 1;
    }
    return null;
  }
}

interface Patterns {
  readonly first: RegExp;
  readonly rest: readonly RegExp[];
}

/** Made when a text first looks as if it had the secret, which for most of them is never. */
function compiled(first: string, rest: readonly string[]): Patterns {
  return { first: new RegExp(first, "g"), rest: rest.map((piece) => new RegExp(piece, "y")) };
}

/** Where the last of these pieces ends, if each begins where the one before it ended. */
function endOf(pieces: readonly RegExp[], text: string, start: number): number | null {
  let at = start;
  for (const piece of pieces) {
    piece.lastIndex = at;
    if (!piece.test(text)) return null;
    at = piece.lastIndex;
  }
  return at;
}

/** Spans in the order of their beginnings, without overlaps. */
export function mergeSpans(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) addSpan(merged, span);
  return merged;
}

function addSpan(spans: Span[], { from, to }: Span) {
  const last = spans.at(-1);
  if (last === undefined || last.to <= from) spans.push({ from, to });
  else spans[spans.length - 1] = { from: last.from, to: Math.max(last.to, to) };
}

/** Units of a secret in one pattern: V8 takes some thousands of those with many spellings. */
const PIECE_UNITS = 32;

/** Backslashes and what they stand before; they cannot be told apart from those that escape it. */
const UNIT = /\\*[^\\]|\\+$/g;

/** No encoder escapes these, so a secret of nothing else is a literal, which is the fast case. */
const PLAIN = /^[\w .:,;@#$%^*()[\]{}|~!?-]$/;

const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ["\b", "b"],
  ["\t", "t"],
  ["\n", "n"],
  ["\f", "f"],
  ["\r", "r"],
]);

/** Each level of JSON inside JSON doubles a backslash; these are three levels. */
const BACKSLASHES_FOR_ONE_MAX = 8;

function spellingOf(unit: string): string {
  const [character = ""] = unit.match(/[^\\]$/) ?? [];
  const least = unit.length - character.length;
  const most = (least + 1) * BACKSLASHES_FOR_ONE_MAX;
  const backslashes = (from: number) => `\\\\{${from},${most}}`;
  if (character === "" || PLAIN.test(character)) {
    return (least === 0 ? "" : backslashes(least)) + literal(character);
  }
  const code = character.charCodeAt(0).toString(16).padStart(4, "0");
  const anyCase = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const short = SHORT_NAMES.get(character);
  const names = short === undefined ? `u${anyCase}` : `(?:${short}|u${anyCase})`;
  return `(?:${backslashes(least)}\\u${code}|${backslashes(least + 1)}${names})`;
}

function literal(character: string): string {
  return character.replace(/[.*^$(){}[\]|?]/, "\\$&");
}

import { Buffer } from "node:buffer";

/** From where to where a secret stands in a text. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The ways in which one secret may be written. */
export interface SecretSpellings {
  /** As it is, or percent-encoded. */
  readonly plain: SecretSpelling;
  /** It has another text at each of three positions in a group of bytes. */
  readonly base64: readonly SecretSpelling[];
}

export function spellingsOf(secret: string): SecretSpellings {
  const plain = new SecretSpelling((secret.match(UNIT) ?? []).map(spellingOf));
  const encoded = base64Of(secret).map((text) => [...text].map(base64Spelling));
  return { plain, base64: encoded.map((units) => new SecretSpelling(units)) };
}

/** The same ways as texts, each in its usual form: beginnings are looked for among these. */
export function formsOf(secret: string): readonly string[] {
  const percent = percentOf(secret);
  const strict = percent.replace(/[!'()*]/g, percentOfCharacter);
  const inLowerCase = [percent, strict].map((text) => text.replace(/%../g, lower));
  const base64 = base64Of(secret);
  const inAddresses = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, inJson, percent, strict, ...inLowerCase, ...base64, ...inAddresses])];
}

/**
 * One way to write a secret. JSON escapes some characters, a tool's JSON inside our JSON has them
 * escaped again, and encoders differ in which and how. So a character that any of them escapes is
 * looked for in every spelling, up to three levels deep.
 *
 * Nothing here runs away. Every piece of a pattern ends with a character that is no backslash, so
 * there is one way to match it, and backslashes are counted up to a maximum: a text costs its
 * length. A long secret is matched piece by piece, because an engine refuses a pattern that is
 * too large, with the pattern in the message of its error.
 */
export class SecretSpelling {
  /** The longest part of it that is there as it is, however the rest is written. */
  readonly anchor: string;
  /** Enough of it to notice that it may be there, as the source of a pattern. */
  readonly beginning: string;
  readonly #rest: readonly string[];
  #patterns: Patterns | null = null;

  /** Each unit is the source of a pattern. */
  constructor(units: readonly string[]) {
    const pieces = Array.from({ length: Math.ceil(units.length / PIECE_UNITS) }, (_, index) =>
      units.slice(index * PIECE_UNITS, (index + 1) * PIECE_UNITS).join(""),
    );
    this.anchor = anchorOf(units);
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

/** The longest run of units that are one character each, and have no other spelling. */
function anchorOf(units: readonly string[]): string {
  let longest = "";
  let run = "";
  for (const unit of units) {
    run = LITERAL.test(unit) ? run + unit.slice(-1) : "";
    if (run.length > longest.length) longest = run;
  }
  return longest;
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
const UNIT = /\\*(?:[\ud800-\udbff][\udc00-\udfff]|[^\\])|\\+$/g;

/** No encoder of JSON escapes these. */
const PLAIN = /^[\w .:,;@#$%^*()[\]{}|~!?-]$/;

/** Nor does any percent-encoding these: a secret of them is a literal, which is the fast case. */
const UNRESERVED = /^[\w.~-]$/;

/** Such a character, as the source of a pattern. */
const LITERAL = /^(?:[\w~-]|\\\.)$/;

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
  const [character = ""] = unit.match(/[^\\]+$/) ?? [];
  const backslashes = unit.length - character.length;
  const [first = "", ...others] = character.split("");
  const inJson =
    jsonSpelling(backslashes, first) + others.map((one) => jsonSpelling(0, one)).join("");
  if (unit === character && UNRESERVED.test(character)) return inJson;
  return `(?:${inJson}|${percentSpelling(unit)})`;
}

function jsonSpelling(least: number, character: string): string {
  const most = (least + 1) * BACKSLASHES_FOR_ONE_MAX;
  const backslashes = (from: number) => `\\\\{${from},${most}}`;
  if (character === "" || PLAIN.test(character)) {
    return (least === 0 ? "" : backslashes(least)) + literal(character);
  }
  const code = character.charCodeAt(0).toString(16).padStart(4, "0");
  const short = SHORT_NAMES.get(character);
  const names = short === undefined ? `u${inAnyCase(code)}` : `(?:${short}|u${inAnyCase(code)})`;
  return `(?:${backslashes(least)}\\u${code}|${backslashes(least + 1)}${names})`;
}

function percentSpelling(unit: string): string {
  return [...unit].map(percentSpellingOf).join("");
}

/** A space is a plus in forms of web pages. */
function percentSpellingOf(character: string): string {
  if (UNRESERVED.test(character)) return literal(character);
  const encoded = percentOfCharacter(character).replace(/[A-F]/g, inAnyCase);
  return character === " " ? `(?:${encoded}|\\+)` : encoded;
}

/** Base64 for addresses has two letters of its own. */
function base64Spelling(letter: string): string {
  if (letter === "+") return `(?:${spellingOf(letter)}|-)`;
  return letter === "/" ? `(?:${spellingOf(letter)}|_)` : letter;
}

/** The letters that come of the secret alone, behind none, one or two other bytes. */
function base64Of(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const bits = (before + bytes.length) * 8;
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
  });
}

function percentOf(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text;
}

function percentOfCharacter(character: string): string {
  const bytes = [...Buffer.from(character)];
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

function lower(text: string): string {
  return text.toLowerCase();
}

/** Hexadecimal digits in either case, as the source of a pattern. */
function inAnyCase(digits: string): string {
  return digits.replace(/[a-f]/gi, (digit) => `[${digit.toLowerCase()}${digit.toUpperCase()}]`);
}

function literal(character: string): string {
  return character.replace(/[.*^$(){}[\]|?]/, "\\$&");
}

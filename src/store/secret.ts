import {
  LEAK_PATH_CHARS_MAX,
  LEAK_PATHS_MAX,
  SECRET_CHARS_MAX,
  SECRET_CHARS_MIN,
  SECRETS_KNOWN_MAX,
} from "../core/limits.ts";
import { DONE, type Result } from "../core/result.ts";
import { cutText } from "../core/text.ts";
import { invalid } from "./check.ts";

/** Secrets in one pattern, in order: V8 is fastest if few of them begin alike. */
const PATTERN_SECRETS_MAX = 64;

/** What is nested deeper than this in a text that has a secret is hidden whole. */
const DEPTH_MAX = 128;

const REDACTED = "[redacted]";

/**
 * Knows the secret values that Fermata has resolved, and finds them again (P11). Code that
 * resolves a secret calls `know` before it uses the value, and `forget` when no agent has it.
 */
export class SecretGuard {
  readonly #known = new Map<string, { readonly spelling: SecretSpelling; times: number }>();
  /** Null if a secret has come or gone since they were made. */
  #patterns: readonly RegExp[] | null = null;

  /** A value that is refused here must not be used: nothing would keep it off the disk. */
  know(secret: string): Result<void> {
    if (typeof secret !== "string") return invalid("secret", "it is not a text");
    // Our own mark is no secret, and could never be hidden behind itself.
    if (secret.length < SECRET_CHARS_MIN || REDACTED.includes(secret)) return DONE;
    if (secret.length > SECRET_CHARS_MAX) {
      return invalid("secret", `it has more than ${SECRET_CHARS_MAX} characters`);
    }
    const known = this.#known.get(secret);
    if (known !== undefined) known.times += 1;
    else if (this.#known.size >= SECRETS_KNOWN_MAX) {
      return invalid("secret", `${SECRETS_KNOWN_MAX} others are known already`);
    } else {
      this.#known.set(secret, { spelling: new SecretSpelling(secret), times: 1 });
      this.#patterns = null;
    }
    return DONE;
  }

  /** Takes back one `know`: the value stays a secret until each `know` is taken back. */
  forget(secret: string) {
    const known = this.#known.get(secret);
    if (known === undefined) return;
    known.times -= 1;
    if (known.times > 0) return;
    this.#known.delete(secret);
    this.#patterns = null;
  }

  /**
   * A text without its secrets; the very same text if it has none, so that `!==` tells. JSON stays
   * JSON: only its strings change, and numbers that are a secret as a whole.
   */
  redact(text: string): string {
    return this.#mayHold(text) ? this.#redactFound(text) : text;
  }

  /** The paths in a value under which a secret stands; of many only the first ones. */
  leaks(value: unknown, path = ""): readonly string[] {
    if (this.#known.size === 0) return [];
    const paths: string[] = [];
    const seen = new Set<object>();
    const places: NestedValue[] = [{ value, name: path, above: null }];
    for (const place of places) {
      if (this.#isLeak(place)) paths.push(this.#pathOf(place));
      if (paths.length === LEAK_PATHS_MAX) break;
      addInner(places, place, seen);
    }
    return paths;
  }

  /** The hot path: for all but the largest lists one test, and nothing is made. */
  #mayHold(text: string): boolean {
    this.#patterns ??= this.#compiled();
    for (const pattern of this.#patterns) if (pattern.test(text)) return true;
    return false;
  }

  #compiled(): readonly RegExp[] {
    const secrets = [...this.#known.keys()].sort();
    const beginnings = secrets.map((secret) => this.#known.get(secret)?.spelling.beginning);
    const groups = Math.ceil(beginnings.length / PATTERN_SECRETS_MAX);
    return Array.from({ length: groups }, (_, group) => {
      const from = group * PATTERN_SECRETS_MAX;
      return new RegExp(beginnings.slice(from, from + PATTERN_SECRETS_MAX).join("|"));
    });
  }

  #redactFound(text: string): string {
    const parsed = parseJson(text);
    if (parsed === undefined) return this.#hide(text);
    const clean = this.#hideIn(parsed, 0);
    return clean === parsed ? text : JSON.stringify(clean);
  }

  /** The same value without its secrets; the very same if it has none. */
  #hideIn(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#hide(value);
    if (typeof value === "number") return this.#known.has(String(value)) ? REDACTED : value;
    if (typeof value !== "object" || value === null) return value;
    if (depth > DEPTH_MAX) return REDACTED;
    if (Array.isArray(value)) {
      const clean = value.map((inner) => this.#hideIn(inner, depth + 1));
      return clean.some((inner, index) => inner !== value[index]) ? clean : value;
    }
    const before = Object.entries(value);
    const clean = before.map(([key, inner]): [string, unknown] => [
      this.#hide(key),
      this.#hideIn(inner, depth + 1),
    ]);
    const isSame = before.every(
      ([key, inner], at) => key === clean[at]?.[0] && inner === clean[at]?.[1],
    );
    return isSame ? value : Object.fromEntries(clean);
  }

  /** A text that is only text, with a mark in the place of each secret. */
  #hide(text: string): string {
    if (!this.#mayHold(text)) return text;
    const places = [...this.#known.values()].flatMap(({ spelling }) => spelling.places(text));
    let clean = "";
    let at = 0;
    for (const { from, to } of mergeSpans(places)) {
      clean += text.slice(at, from) + REDACTED;
      at = to;
    }
    return at === 0 ? text : clean + text.slice(at);
  }

  /** The first name is the caller's, for us to say where; all others go to the disk. */
  #isLeak({ value, name, above }: NestedValue): boolean {
    if (above !== null && this.#holds(name)) return true;
    if (typeof value === "string") return this.#holds(value);
    if (typeof value === "number") return this.#known.has(String(value));
    return ArrayBuffer.isView(value) && this.#holds(bytesOf(value).toString());
  }

  #holds(text: string): boolean {
    if (!this.#mayHold(text)) return false;
    return [...this.#known.values()].some(({ spelling }) => spelling.isIn(text));
  }

  /** Names may have a secret in them, alone or together; a path never shows it. */
  #pathOf(place: NestedValue): string {
    const names: string[] = [];
    for (let at: NestedValue | null = place; at !== null; at = at.above) {
      if (at.name !== "") names.push(at.name);
    }
    return cutText(this.#hide(names.reverse().join(".")), LEAK_PATH_CHARS_MAX);
  }
}

/** A value on the way to the disk, and where it stands. */
interface NestedValue {
  readonly value: unknown;
  readonly name: string;
  readonly above: NestedValue | null;
}

/** Once is enough for what stands in many places, itself among them. */
function addInner(places: NestedValue[], place: NestedValue, seen: Set<object>) {
  const { value } = place;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (seen.has(value)) return;
  seen.add(value);
  for (const [name, inner] of Object.entries(value)) {
    places.push({ value: inner, name, above: place });
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Undefined, which no JSON is, if it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
 * too large, with the pattern in the message of its error.
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
function mergeSpans(spans: readonly Span[]): readonly Span[] {
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

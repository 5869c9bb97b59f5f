import { isObject } from "../json.ts";

/** A place in a text of a workflow: `${results.review.findings|none yet}`. */
export interface Placeholder {
  readonly path: readonly string[];
  /** What stands there if nothing is known; null if something has to be. */
  readonly fallback: string | null;
}

/** What a place in a text can be filled with, by the first word of its path. */
export type Facts = Readonly<Record<string, unknown>>;

/**
 * The text with every place filled; or the first place for which nothing is known, or the limit
 * beyond which the text would be.
 */
export type Rendered =
  | { readonly text: string }
  | { readonly unresolved: string }
  | { readonly tooLong: number };

const PLACE = /\$\{([^{}|]*)(?:\|([^{}]*))?\}/g;

/** All places of a text, in their order. */
export function placeholdersIn(text: string): readonly Placeholder[] {
  return [...text.matchAll(PLACE)].map(([, path = "", fallback]) => {
    return { path: pathOf(path), fallback: fallback ?? null };
  });
}

/**
 * Fills the places of a text. A value is never looked into for places again; what is no string
 * stands there as JSON. It stops where the text would become too long: a short one may name a long
 * value a thousand times.
 */
export function render(text: string, facts: Facts, charsMax: number): Rendered {
  const pieces: string[] = [];
  let chars = 0;
  let at = 0;
  for (const { 0: place, 1: path = "", 2: fallback, index } of text.matchAll(PLACE)) {
    const value = factAt(facts, pathOf(path)) ?? fallback;
    if (value === undefined) return { unresolved: place };
    const before = text.slice(at, index);
    const filled = typeof value === "string" ? value : JSON.stringify(value);
    chars += before.length + filled.length;
    if (chars > charsMax) return { tooLong: charsMax };
    pieces.push(before, filled);
    at = index + place.length;
  }
  pieces.push(text.slice(at));
  return chars + text.length - at > charsMax ? { tooLong: charsMax } : { text: pieces.join("") };
}

function pathOf(path: string): readonly string[] {
  return path.trim().split(".");
}

/** Undefined for what is not there, and for null: nothing is known of it. */
export function factAt(facts: Facts, path: readonly string[]): unknown {
  let value: unknown = facts;
  for (const name of path) {
    const isInside = isObject(value) || Array.isArray(value);
    if (!isInside || !Object.hasOwn(value as object, name)) return undefined;
    value = Reflect.get(value as object, name);
  }
  return value ?? undefined;
}

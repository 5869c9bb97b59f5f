import { isObject, type JsonObject } from "../core/json.ts";
import { faultOf, type SyntaxFault } from "./json-fault.ts";

/**
 * Whether a JSON text is nested deeper than the limit. It is asked before parsing, because a value
 * that `JSON.parse` reads may be too deep for `JSON.stringify`. Most texts are too short to be.
 */
export function isNestedDeeper(text: string, depthMax: number): boolean {
  return text.length > 2 * depthMax && excessOf(text, depthMax, Number.POSITIVE_INFINITY) !== null;
}

type Excess = "too_deep" | "too_many_values";

/**
 * Looks for more levels or values than there may be, in one pass over the text. An opening bracket
 * and a comma each come before a value, so an empty list counts as one too many.
 */
function excessOf(text: string, depthMax: number, valuesMax: number): Excess | null {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at);
    else if (char === COMMA) values += 1;
    else if (char === END_BRACKET || char === END_BRACE) depth -= 1;
    else if (char === BRACKET || char === BRACE) {
      depth += 1;
      values += 1;
    }
    if (depth > depthMax) return "too_deep";
    if (values > valuesMax) return "too_many_values";
  }
  return null;
}

/**
 * The index of the closing quote of the string that begins here. Most strings end at the next
 * quote. If that may be escaped, each character is looked at once: a text of nothing but escaped
 * quotes costs its length, and little for each.
 */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return Math.min(at, text.length);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const END_BRACKET = 0x5d;
const BRACE = 0x7b;
const END_BRACE = 0x7d;

export type JsonBody =
  | { readonly kind: "object"; readonly object: JsonObject }
  /** Null says no more about it: it is no UTF-8, or too long to be looked through. */
  | { readonly kind: "malformed"; readonly fault: SyntaxFault | null }
  | { readonly kind: Excess };

export interface JsonLimits {
  readonly depthMax: number;
  readonly valuesMax: number;
}

/** Keys that change the prototype when code copies an object carelessly. */
const UNTRUSTED_KEYS = ["__proto__", "constructor", "prototype"];

/** Parses the body of a request. Any value other than an object counts as an empty object. */
export function readJsonBody(bytes: Uint8Array, { depthMax, valuesMax }: JsonLimits): JsonBody {
  if (bytes.length === 0) return { kind: "object", object: {} };
  const text = decoded(bytes);
  if (text === null) return { kind: "malformed", fault: null };
  const excess = excessOf(text, depthMax, valuesMax);
  if (excess !== null) return { kind: excess };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "malformed", fault: faultOf(text) };
  }
  return { kind: "object", object: isObject(value) ? withoutUntrusted(value) : {} };
}

/** The text without a byte order mark; null if the bytes are not UTF-8. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function withoutUntrusted(object: JsonObject): JsonObject {
  if (!UNTRUSTED_KEYS.some((key) => Object.hasOwn(object, key))) return object;
  const kept = Object.entries(object).filter(([key]) => !UNTRUSTED_KEYS.includes(key));
  return Object.fromEntries(kept);
}

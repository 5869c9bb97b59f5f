import { isObject, type JsonObject } from "../core/json.ts";
import { isNestedDeeper } from "./nesting.ts";

export type JsonBody =
  | { readonly kind: "object"; readonly object: JsonObject }
  | { readonly kind: "malformed" }
  | { readonly kind: "too_deep" };

/** Keys that mean something else to whoever copies an object carelessly. */
const UNTRUSTED_KEYS = ["__proto__", "constructor", "prototype"];

/** The one parse of a request's body. What is no object counts as an empty one (wire, 1.6). */
export function readJsonBody(bytes: Uint8Array, depthMax: number): JsonBody {
  if (bytes.length === 0) return { kind: "object", object: {} };
  const text = decoded(bytes);
  if (text === null) return { kind: "malformed" };
  if (isNestedDeeper(text, depthMax)) return { kind: "too_deep" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "malformed" };
  }
  return { kind: "object", object: isObject(value) ? withoutUntrusted(value) : {} };
}

/** The text, without a byte order mark; null if the bytes are none. */
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

import { PLAIN_DATA_DEPTH_MAX } from "../core/limits.ts";

/** What JSON carries without a change. */
export type PlainData =
  | null
  | boolean
  | number
  | string
  | readonly PlainData[]
  | { readonly [key: string]: PlainData };

/** Where a value is not what it should be, and why. */
export interface DataFault {
  /** Keys and indexes from the value down, joined by dots; empty is the value itself. */
  readonly path: string;
  readonly reason: string;
}

type PlainText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: DataFault };

/** How the path of a value too large begins and ends: there is no one place to name. */
const TOO_LARGE = "it is too large";

/** Whether this is the fault of a value that is plain data, and only too much of it. */
export function isTooLarge({ reason }: DataFault): boolean {
  return reason === TOO_LARGE;
}

/**
 * The JSON text of a value that comes back from it exactly as it was. Functions, cycles, NaN,
 * dates, half characters and the like are refused here, where their author can see it, and not
 * when they are read back. A value that is far too large is not even walked to its end.
 */
export function plainText(value: unknown, bytesMax: number): PlainText {
  const walk = new Walk(bytesMax);
  const fault = walk.faultOf(value, []);
  if (fault !== null) return { fault };
  const text = JSON.stringify(value);
  // It was walked, so it is no large text by now; what escapes add is counted here.
  const bytes = new TextEncoder().encode(text).byteLength;
  return bytes > bytesMax ? { fault: { path: "", reason: TOO_LARGE } } : { text };
}

/** One look at a value and everything in it. */
class Walk {
  readonly #above = new Set<object>();
  #bytesLeft: number;

  constructor(bytesMax: number) {
    this.#bytesLeft = bytesMax;
  }

  faultOf(value: unknown, path: readonly (string | number)[]): DataFault | null {
    // Each value takes a byte of its text, and a string or key at least its characters.
    this.#bytesLeft -= typeof value === "string" ? value.length + 2 : 1;
    if (this.#bytesLeft < 0) return { path: "", reason: TOO_LARGE };
    const reason = typeof value === "object" && value !== null ? null : reasonOf(value);
    if (reason !== null) return { path: path.join("."), reason };
    return typeof value === "object" && value !== null ? this.#inside(value, path) : null;
  }

  #inside(value: object, path: readonly (string | number)[]): DataFault | null {
    const reason = this.#reasonOfObject(value, path.length);
    if (reason !== null) return { path: path.join("."), reason };
    this.#above.add(value);
    const names = Array.isArray(value) ? INDEXES.call(value) : Object.keys(value);
    for (const name of names) {
      if (typeof name === "string") this.#bytesLeft -= name.length + 3;
      const fault = this.faultOf(Reflect.get(value, name), [...path, name]);
      if (fault !== null) return fault;
    }
    this.#above.delete(value);
    return null;
  }

  #reasonOfObject(value: object, depth: number): string | null {
    if (this.#above.has(value)) return "it contains itself";
    if (depth >= PLAIN_DATA_DEPTH_MAX) return `it is nested deeper than ${PLAIN_DATA_DEPTH_MAX}`;
    if (Array.isArray(value)) return null;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return "it is no plain object";
    const keys = Reflect.ownKeys(value);
    if (keys.some((key) => typeof key === "symbol")) return "a key is a symbol";
    if (keys.includes("__proto__")) return "a key is __proto__";
    const isText = (key: string | symbol) => typeof key === "string" && key.isWellFormed();
    return keys.every(isText) ? null : "a key has half a character";
  }
}

/** An array's own `keys` may be anything. */
const INDEXES = Array.prototype.keys;

/** What is wrong with a value that is no object; null if nothing is. */
function reasonOf(value: unknown): string | null {
  if (value === null || typeof value === "boolean") return null;
  if (typeof value === "number") return Number.isFinite(value) ? null : `it is ${value}`;
  if (typeof value !== "string") return `it is of the type ${typeof value}, which JSON has not`;
  return value.isWellFormed() ? null : "it has half a character";
}

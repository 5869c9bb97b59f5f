import { DOCUMENT_BYTES_MAX } from "../core/limits.ts";
import { ok, type Result } from "../core/result.ts";
import { invalid } from "./check.ts";

/**
 * Writes a value as JSON only if reading it back gives the same value. What does not survive
 * (functions, cycles, fractions of nothing, half characters) is refused where it is written,
 * with its path, and not found missing on the day it is needed.
 */
export function encodePlain(value: unknown): Result<string> {
  const fault = faultOf(value, "value", { above: [], budget: { values: DOCUMENT_BYTES_MAX } });
  return fault === null ? ok(JSON.stringify(value)) : invalid(fault.path, fault.reason);
}

interface Fault {
  readonly path: string;
  readonly reason: string;
}

const DEPTH_MAX = 128;

/**
 * Where a walk through a value stands. Each value is at least a byte of JSON, so their number is
 * bounded like the bytes: a small value that holds one thing many times over, and so on down,
 * would else be walked through for ever.
 */
interface Walk {
  readonly above: readonly unknown[];
  readonly budget: { values: number };
}

function faultOf(value: unknown, path: string, { above, budget }: Walk): Fault | null {
  budget.values -= 1;
  if (budget.values < 0) return { path, reason: "it has too many values" };
  if (value === null || typeof value === "boolean") return null;
  if (typeof value === "string") return value.isWellFormed() ? null : half(path);
  if (typeof value === "number")
    return isExact(value) ? null : { path, reason: "it is no JSON number" };
  if (typeof value !== "object") return { path, reason: `a ${typeof value} cannot be stored` };
  if (above.includes(value)) return { path, reason: "it contains itself" };
  if (above.length >= DEPTH_MAX) return { path, reason: "it is nested too deeply" };
  return faultInside(value, path, { above: [...above, value], budget });
}

function faultInside(value: object, path: string, walk: Walk): Fault | null {
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain || hasMore(value)) {
    return { path, reason: "only plain objects and lists can be stored" };
  }
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return half(path);
    const fault = faultOf(inner, `${path}.${key}`, walk);
    if (fault !== null) return fault;
  }
  return null;
}

/** What JSON would leave out or fill up: symbols, holes in a list, names on a list. */
function hasMore(value: object): boolean {
  if (Object.getOwnPropertySymbols(value).length > 0) return true;
  return Array.isArray(value) && Object.keys(value).length !== value.length;
}

/** Minus zero would come back as zero. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0);
}

const half = (path: string): Fault => ({ path, reason: "it has half a character" });

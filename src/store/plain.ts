import { invalid } from "./check.ts";
import { ok, type Result } from "./result.ts";

/**
 * Writes a value as JSON only if reading it back gives the same value. What does not survive
 * (functions, cycles, fractions of nothing, half characters) is refused where it is written,
 * with its path, and not found missing on the day it is needed.
 */
export function encodePlain(value: unknown): Result<string> {
  const fault = faultOf(value, "value", []);
  return fault === null ? ok(JSON.stringify(value)) : invalid(fault.path, fault.reason);
}

interface Fault {
  readonly path: string;
  readonly reason: string;
}

const DEPTH_MAX = 128;

function faultOf(value: unknown, path: string, above: readonly unknown[]): Fault | null {
  if (value === null || typeof value === "boolean") return null;
  if (typeof value === "string") return value.isWellFormed() ? null : half(path);
  if (typeof value === "number")
    return isExact(value) ? null : { path, reason: "it is no JSON number" };
  if (typeof value !== "object") return { path, reason: `a ${typeof value} cannot be stored` };
  if (above.includes(value)) return { path, reason: "it contains itself" };
  if (above.length >= DEPTH_MAX) return { path, reason: "it is nested too deeply" };
  return faultInside(value, path, [...above, value]);
}

function faultInside(value: object, path: string, above: readonly unknown[]): Fault | null {
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isPlain || hasMore(value)) {
    return { path, reason: "only plain objects and lists can be stored" };
  }
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) return half(path);
    const fault = faultOf(inner, `${path}.${key}`, above);
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

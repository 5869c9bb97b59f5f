import type { ErrorCode } from "../core/error.ts";
import type { Result } from "../core/result.ts";

/** What came of it, in one word. */
export function codeOf(result: Result<unknown>): ErrorCode | "ok" {
  return result.ok ? "ok" : result.refusal.code;
}

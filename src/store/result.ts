import { type ErrorCode, type Refusal, refusal } from "../core/error.ts";

/** What every operation of a store comes to. Nothing is thrown, not even by a broken disk. */
export type Result<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

export function ok<Value>(value: Value): Result<Value> {
  return { ok: true, value };
}

export const DONE: Result<void> = { ok: true, value: undefined };

export function fail(code: ErrorCode, details: Refusal["details"] = {}): Result<never> {
  return { ok: false, refusal: refusal(code, details) };
}

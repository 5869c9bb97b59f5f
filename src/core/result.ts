import { type ErrorCode, type Refusal, refusal } from "./error.ts";

/** The outcome of an operation that can be refused. It never throws at its caller. */
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

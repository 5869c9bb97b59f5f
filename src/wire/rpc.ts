import { isObject, type JsonObject, objectAt, stringAt } from "../core/json.ts";
import { RPC_NESTING_MAX } from "../core/limits.ts";
import { isNestedDeeper } from "./nesting.ts";

/** JSON-RPC 2.0, one message a line, as ACP speaks it. */

export type RpcId = number | string;

export type RpcMessage =
  | {
      readonly kind: "request";
      readonly id: RpcId;
      readonly method: string;
      readonly params: JsonObject;
    }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "result"; readonly id: RpcId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RpcId | null; readonly error: RpcError }
  /** Something else: a log line, a page of help, half a message. */
  | { readonly kind: "malformed"; readonly why: string };

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export const RPC_ERRORS = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** ACP's own. */
  authRequired: -32_000,
  resourceNotFound: -32_002,
} as const;

/** The one parse of a line. What is inside `params` and `result` stays as it came. */
export function readRpc(line: string): RpcMessage {
  if (isNestedDeeper(line, RPC_NESTING_MAX)) return malformed("it is nested too deeply");
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return malformed("it is not JSON");
  }
  if (!isObject(value)) return malformed("it is not an object");
  const method = stringAt(value, "method");
  const { id } = value;
  if (method !== null) {
    const params = objectAt(value, "params") ?? {};
    if (id === undefined) return { kind: "notification", method, params };
    return isRpcId(id) ? { kind: "request", id, method, params } : malformed("its id is no id");
  }
  // Older peers send both fields always, and leave one of them null.
  if (value.error !== undefined && value.error !== null) {
    const error = readError(value.error);
    return { kind: "error", id: isRpcId(id) ? id : null, error };
  }
  if (!isRpcId(id)) return malformed("it has neither a method nor an id");
  return "result" in value
    ? { kind: "result", id, result: value.result }
    : malformed("it has neither a method nor a result");
}

function malformed(why: string): RpcMessage {
  return { kind: "malformed", why };
}

export function isRpcId(value: unknown): value is RpcId {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

/** Agents put all sorts of things here; a person should still be able to read it. */
function readError(value: unknown): RpcError {
  if (!isObject(value)) return { code: RPC_ERRORS.internal, message: String(value) };
  const code = typeof value.code === "number" ? value.code : RPC_ERRORS.internal;
  const message = stringAt(value, "message") ?? "no reason given";
  return value.data === undefined ? { code, message } : { code, message, data: value.data };
}

export function requestLine(id: RpcId, method: string, params: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

export function notificationLine(method: string, params: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`;
}

export function resultLine(id: RpcId, result: unknown): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, result: result ?? null })}\n`;
}

export function errorLine(id: RpcId | null, error: RpcError): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`;
}

import { isObject, type JsonObject, objectAt, stringAt } from "../core/json.ts";
import { RPC_NESTING_MAX } from "../core/limits.ts";

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
  if (isDeeper(line, RPC_NESTING_MAX)) return malformed("it is nested too deeply");
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

/**
 * Whether values are nested deeper than this. What can be parsed at any depth cannot be written
 * again at any depth, so it is asked before. A line that is too short for it is not looked at,
 * and most lines are.
 */
function isDeeper(line: string, depthMax: number): boolean {
  if (line.length <= 2 * depthMax) return false;
  let depth = 0;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charCodeAt(at);
    if (char === QUOTE) at = endOfString(line, at);
    else if (char === BRACKET || char === BRACE) depth += 1;
    else if (char === END_BRACKET || char === END_BRACE) depth -= 1;
    if (depth > depthMax) return true;
  }
  return false;
}

/** Where the string that begins here ends: at the next quote that no backslash takes away. */
function endOfString(line: string, start: number): number {
  let end = line.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(line, end)) end = line.indexOf('"', end + 1);
  return end < 0 ? line.length : end;
}

function isEscaped(line: string, at: number): boolean {
  let backslashes = 0;
  while (line.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const END_BRACKET = 0x5d;
const BRACE = 0x7b;
const END_BRACE = 0x7d;

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

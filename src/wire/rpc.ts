import { isObject, type JsonObject, objectAt, stringAt } from "../core/json.ts";
import { RPC_NESTING_MAX } from "../core/limits.ts";
import { isNestedDeeper } from "./json.ts";

/** An id of JSON-RPC 2.0, which ACP speaks with one message a line. */
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
  /** Any other line: a log line, a page of help, half a message. */
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
  /** Defined by ACP. */
  authRequired: -32_000,
  resourceNotFound: -32_002,
} as const;

/** Parses a line. It does not check what is inside `params` and `result`. */
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
  // Older agents always send both fields, with null for one of them.
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

/** Reads an error of any shape, since agents differ, into one that a person can read. */
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

/** Stands for a line over the limit, which is dropped. */
export const OVERLONG = Symbol("overlong line");

/**
 * Splits a stream of bytes into lines. It holds at most one unfinished line, and drops one that
 * grows past the limit: a gigabyte without a newline costs no memory.
 */
export class LineSplitter {
  readonly #bytesMax: number;
  /** The unfinished line, with spare capacity: it may arrive in millions of one-byte parts. */
  #held = EMPTY;
  #bytes = 0;
  #isSkipping = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Yields the lines that this chunk completes, without LF or CR LF. Skips empty lines. */
  *feed(chunk: Buffer): Generator<string | typeof OVERLONG> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = this.#finish(chunk, start, end);
      start = end + 1;
      if (line !== "") yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The unfinished line at the end of the stream. */
  rest(): string | typeof OVERLONG {
    return this.#finish(EMPTY, 0, 0);
  }

  /** Most lines are inside one chunk, and are decoded without a copy. */
  #finish(chunk: Buffer, start: number, end: number): string | typeof OVERLONG {
    if (this.#bytes > 0) this.#keep(chunk.subarray(start, end));
    const isLong = this.#isSkipping || end - start > this.#bytesMax;
    const line = this.#bytes > 0 ? this.#held.toString("utf8", 0, this.#bytes) : null;
    this.#forget();
    this.#isSkipping = false;
    if (isLong) return OVERLONG;
    const text = line ?? chunk.toString("utf8", start, end);
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  #keep(part: Buffer) {
    if (part.length === 0 || this.#isSkipping) return;
    const bytes = this.#bytes + part.length;
    if (bytes > this.#bytesMax) {
      this.#isSkipping = true;
      this.#forget();
      return;
    }
    if (bytes > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#bytesMax, Math.max(bytes, 2 * this.#bytes)));
      this.#held.copy(larger, 0, 0, this.#bytes);
      this.#held = larger;
    }
    part.copy(this.#held, this.#bytes);
    this.#bytes = bytes;
  }

  #forget() {
    this.#held = EMPTY;
    this.#bytes = 0;
  }
}

const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

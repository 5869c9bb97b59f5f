import type { Readable, Writable } from "node:stream";
import type { JsonObject } from "../core/json.ts";
import {
  AGENT_CALLS_OPEN_MAX,
  AGENT_LINE_BYTES_MAX,
  AGENT_OUTBOX_BYTES_MAX,
  AGENT_REQUESTS_OPEN_CHARS_MAX,
  AGENT_REQUESTS_OPEN_MAX,
} from "../core/limits.ts";
import { DONE, fail, type Result } from "../core/result.ts";
import { WITHDRAWN } from "../core/session/reason.ts";
import { BoundedMap } from "../platform/bounded-map.ts";
import { CANCEL_REQUEST } from "../wire/acp.ts";
import * as rpc from "../wire/rpc.ts";
import { LineSplitter, OVERLONG } from "../wire/rpc.ts";
import { type CallLimit, CallTimer } from "./call-limit.ts";
import type { FaultLog } from "./fault.ts";
import type { WireTap } from "./keeper.ts";

/** How a call to the agent ended. */
export type CallOutcome =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: rpc.RpcError }
  /** Only for a call with a limit. */
  | { readonly kind: "timeout"; readonly limitMs: number }
  | { readonly kind: "closed" };

/** Receives the agent's notifications and requests. */
export interface AgentMessageHandler {
  /**
   * `chars` is the length of its line. While the promise is open nothing more is read, and no
   * call's timeout runs.
   */
  notified(method: string, params: JsonObject, chars: number): Promise<void> | undefined;
  requested(method: string, params: JsonObject, context: RequestContext): Serving;
}

/** How a request came. */
export interface RequestContext {
  /** The length of its line. */
  readonly chars: number;
  /** Fires if the agent cancels the request, or the connection ends. */
  readonly signal: AbortSignal;
}

/** A request that is being served. */
export interface Serving {
  readonly answer: Promise<Served>;
  /** While it is open nothing more is read, and no call's timeout runs. */
  readonly capacity: Promise<void> | undefined;
}

export type Served = { readonly result: unknown } | { readonly error: rpc.RpcError };

interface OpenCall {
  readonly settle: (outcome: CallOutcome) => void;
  timer: CallTimer | null;
  readonly late: LateAnswer | null;
}

/** Called with every line of both directions. */
type LineTap = WireTap["line"];

/** Called with a good answer that came after the timeout. */
type LateAnswer = (result: unknown) => void;

interface IncomingRequest {
  readonly abort: AbortController;
  readonly chars: number;
}

/**
 * JSON-RPC with one agent over its pipes. Each line is parsed once, and its content is passed on
 * unchanged. Invalid lines only increase a counter. When the agent's output ends, every open call
 * ends with `closed`.
 */
export class AgentConnection {
  readonly #input: Writable;
  readonly #handler: AgentMessageHandler;
  readonly #faults: FaultLog;
  readonly #tap: LineTap | null;
  readonly #calls = new Map<rpc.RpcId, OpenCall>();
  /** Calls that timed out, and whose late answers still matter. */
  readonly #overdue = new BoundedMap<rpc.RpcId, LateAnswer>(AGENT_CALLS_OPEN_MAX);
  readonly #requests = new Map<rpc.RpcId, IncomingRequest>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #inputClosed = Promise.withResolvers<void>();
  #lastId = 0;
  #requestChars = 0;
  #isPaused = false;
  #isClosed = false;

  constructor(
    streams: { input: Writable; output: Readable },
    handler: AgentMessageHandler,
    faults: FaultLog,
    tap: LineTap | null = null,
  ) {
    this.#tap = tap;
    this.#input = streams.input;
    this.#handler = handler;
    this.#faults = faults;
    this.#input.on("error", () => this.#inputClosed.resolve());
    void this.#read(streams.output).then(() => this.close());
  }

  /** Whether reading is paused, because a session has too much waiting. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Resolves when the agent's output has been read to its end, or the connection was closed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Resolves when the agent takes no more input: it has closed the pipe, or does not read it. The
   * process may still run and write, and is of no use.
   */
  get inputClosed(): Promise<void> {
    return this.#inputClosed.promise;
  }

  /**
   * Calls the agent. `settle` runs while the answer's line is being read, so in order with the
   * agent's other messages; without a limit it may take for ever. `late` gets a good answer that
   * comes after the timeout, so that what the agent made can be released.
   */
  call(
    method: string,
    params: JsonObject,
    limit: CallLimit | null,
    settle: (outcome: CallOutcome) => void,
    late: LateAnswer | null = null,
  ): Result<void> {
    if (this.#calls.size >= AGENT_CALLS_OPEN_MAX) return fail("agent_busy");
    this.#lastId += 1;
    const id = this.#lastId;
    const sent = this.#write(rpc.requestLine(id, method, params));
    if (!sent.ok) return sent;
    this.#calls.set(id, { settle, timer: this.#timerFor(id, limit), late });
    return sent;
  }

  /** The id of the latest call. */
  get lastCallId(): number {
    return this.#lastId;
  }

  /** Gives an open call another limit, from now on. */
  limitAnew(id: number, limit: CallLimit) {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.timer?.stop();
    call.timer = this.#timerFor(id, limit);
  }

  #timerFor(id: number, limit: CallLimit | null): CallTimer | null {
    const overdue = (limitMs: number) => this.#settle(id, { kind: "timeout", limitMs });
    const timer = limit === null ? null : new CallTimer(limit, overdue);
    if (!this.#isPaused) timer?.run();
    return timer;
  }

  notify(method: string, params: JsonObject): Result<void> {
    return this.#write(rpc.notificationLine(method, params));
  }

  /** Stops reading and writing, and ends every open call and request. */
  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const id of [...this.#calls.keys()]) this.#settle(id, { kind: "closed" });
    for (const { abort } of this.#requests.values()) abort.abort();
    this.#requests.clear();
    this.#overdue.clear();
    this.#ended.resolve();
  }

  async #read(output: Readable): Promise<void> {
    const lines = new LineSplitter(AGENT_LINE_BYTES_MAX);
    try {
      for await (const chunk of output) {
        const bytes: Buffer = chunk;
        for (const line of lines.feed(bytes)) {
          const wait = this.#receive(line);
          if (wait !== undefined) await this.#pauseFor(wait);
          if (this.#isClosed) return;
        }
      }
    } catch {
      // The pipe was closed under the reader: one more way to end.
    }
    const rest = lines.rest();
    if (rest !== "" && !this.#isClosed) void this.#receive(rest);
  }

  /** A handler that throws does not keep the next line from being read. */
  #receive(line: string | typeof OVERLONG): Promise<void> | undefined {
    if (line === OVERLONG) {
      this.#faults.add("overlong_line", "");
      return undefined;
    }
    this.#tap?.("in", line);
    try {
      return this.#dispatch(line);
    } catch (thrown) {
      this.#faults.add("failed_listener", String(thrown));
      return undefined;
    }
  }

  async #pauseFor(wait: Promise<void>): Promise<void> {
    this.#isPaused = true;
    for (const { timer } of this.#calls.values()) timer?.stop();
    try {
      await wait;
    } catch (thrown) {
      this.#faults.add("failed_listener", String(thrown));
    }
    this.#isPaused = false;
    for (const { timer } of this.#calls.values()) timer?.run();
  }

  #dispatch(line: string): Promise<void> | undefined {
    const message = rpc.readRpc(line);
    switch (message.kind) {
      case "notification":
        return this.#notified(message.method, message.params, line.length);
      case "request":
        return this.#serve(message.id, message.method, message.params, line);
      case "result":
        this.#settle(message.id, { kind: "result", result: message.result }, line);
        return undefined;
      case "error":
        this.#settle(message.id, { kind: "error", error: message.error }, line);
        return undefined;
      case "malformed":
        this.#faults.add("malformed_line", line);
        return undefined;
    }
  }

  #notified(method: string, params: JsonObject, chars: number): Promise<void> | undefined {
    if (method !== CANCEL_REQUEST) return this.#handler.notified(method, params, chars);
    const { requestId } = params;
    if (rpc.isRpcId(requestId)) this.#requests.get(requestId)?.abort.abort(WITHDRAWN);
    return undefined;
  }

  #serve(
    id: rpc.RpcId,
    method: string,
    params: JsonObject,
    line: string,
  ): Promise<void> | undefined {
    const chars = line.length;
    if (this.#requests.has(id)) {
      this.#faults.add("duplicate_request", line);
      this.#answer(id, refused("a request with this id is open already"));
      return undefined;
    }
    const isTooMuch = this.#requestChars + chars > AGENT_REQUESTS_OPEN_CHARS_MAX;
    if (isTooMuch || this.#requests.size >= AGENT_REQUESTS_OPEN_MAX) {
      this.#faults.add("too_many_requests", line);
      this.#answer(id, refused("too many requests are open already"));
      return undefined;
    }
    const abort = new AbortController();
    this.#requests.set(id, { abort, chars });
    this.#requestChars += chars;
    const { answer, capacity } = this.#handle(method, params, { chars, signal: abort.signal });
    const failed = (thrown: unknown): Served => {
      return { error: { code: rpc.RPC_ERRORS.internal, message: String(thrown) } };
    };
    void answer.catch(failed).then((served) => {
      this.#requests.delete(id);
      this.#requestChars -= chars;
      this.#answer(id, served);
    });
    return capacity;
  }

  #handle(method: string, params: JsonObject, context: RequestContext): Serving {
    try {
      return this.#handler.requested(method, params, context);
    } catch (thrown) {
      return { answer: Promise.reject(thrown), capacity: undefined };
    }
  }

  /** Answers with an error if the answer does not fit. */
  #answer(id: rpc.RpcId, served: Served) {
    if (this.#isClosed) return;
    const isError = "error" in served;
    const line = isError ? rpc.errorLine(id, served.error) : rpc.resultLine(id, served.result);
    if (this.#write(line).ok) return;
    this.#faults.add("dropped_answer", line);
    const { error } = refused("too much is waiting to be read already");
    if (!this.#write(rpc.errorLine(id, error)).ok) this.#inputClosed.resolve();
  }

  #settle(id: rpc.RpcId | null, reply: CallOutcome, line = "") {
    const call = id === null ? undefined : this.#calls.get(id);
    if (id === null || call === undefined) {
      if (id === null || !this.#settleLate(id, reply)) this.#faults.add("unsolicited_answer", line);
      return;
    }
    this.#calls.delete(id);
    call.timer?.stop();
    if (reply.kind === "timeout" && call.late !== null) this.#overdue.set(id, call.late);
    call.settle(reply);
  }

  /** False if no call expects it. */
  #settleLate(id: rpc.RpcId, reply: CallOutcome): boolean {
    const late = this.#overdue.get(id);
    if (late === undefined) return false;
    this.#overdue.delete(id);
    if (reply.kind === "result") late(reply.result);
    return true;
  }

  /** Bounds what is kept in memory for an agent that does not read. */
  #write(line: string): Result<void> {
    if (this.#isClosed || !this.#input.writable) {
      return fail("agent_gone", { exit: "it takes nothing any more" });
    }
    if (this.#input.writableLength + Buffer.byteLength(line) > AGENT_OUTBOX_BYTES_MAX) {
      return fail("agent_busy");
    }
    this.#tap?.("out", line.trimEnd());
    this.#input.write(line);
    return DONE;
  }
}

function refused(message: string) {
  return { error: { code: rpc.RPC_ERRORS.invalidRequest, message } };
}

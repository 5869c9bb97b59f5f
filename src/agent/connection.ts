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
import { CANCEL_REQUEST } from "../wire/acp.ts";
import * as rpc from "../wire/rpc.ts";
import { LineSplitter, OVERLONG } from "../wire/rpc.ts";
import type { FaultLog } from "./fault.ts";
import { type CallLimit, Patience } from "./patience.ts";
import type { WireTap } from "./trace.ts";

/** An answer to a call, or why there is none. */
export type Reply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: rpc.RpcError }
  /** Only for a call that was given a limit. */
  | { readonly kind: "timeout"; readonly limitMs: number }
  | { readonly kind: "closed" };

/** What the agent says of its own accord. */
export interface Peer {
  /**
   * It took so many characters to say. While the promise is open nothing more is read, and no
   * call's time passes.
   */
  notified(method: string, params: JsonObject, chars: number): Promise<void> | undefined;
  requested(method: string, params: JsonObject, asked: Asked): Serving;
}

/** How a request came. */
export interface Asked {
  /** What it took to say. */
  readonly chars: number;
  /** Fires if the agent does not want the answer any more, or is gone. */
  readonly signal: AbortSignal;
}

/** A request on its way to its answer. */
export interface Serving {
  readonly answer: Promise<Served>;
  /** While it is open nothing more is read, and no call's time passes. */
  readonly room: Promise<void> | undefined;
}

export type Served = { readonly result: unknown } | { readonly error: rpc.RpcError };

interface Call {
  readonly settle: (reply: Reply) => void;
  readonly patience: Patience | null;
  readonly late: Late | null;
}

/** Hears of every line, both ways. */
type LineTap = WireTap["line"];

/** Hears of a good answer that came when nobody waited for it any more. */
type Late = (result: unknown) => void;

interface Request {
  readonly abort: AbortController;
  readonly chars: number;
}

/**
 * JSON-RPC with one agent over its pipes. Each line is parsed once, and what is in it is passed on
 * as it came. Whatever an agent writes, in whatever order, costs at most a counter; when its
 * output ends, every call that waits is told so.
 */
export class AgentConnection {
  readonly #input: Writable;
  readonly #peer: Peer;
  readonly #faults: FaultLog;
  readonly #tap: LineTap | null;
  readonly #calls = new Map<rpc.RpcId, Call>();
  /** Calls that ran out of time, and whose answers somebody has to know of all the same. */
  readonly #overdue = new Map<rpc.RpcId, Late>();
  readonly #requests = new Map<rpc.RpcId, Request>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #deaf = Promise.withResolvers<void>();
  #lastId = 0;
  #requestChars = 0;
  #isPaused = false;
  #isClosed = false;

  constructor(
    streams: { input: Writable; output: Readable },
    peer: Peer,
    faults: FaultLog,
    tap: LineTap | null = null,
  ) {
    this.#tap = tap;
    this.#input = streams.input;
    this.#peer = peer;
    this.#faults = faults;
    this.#input.on("error", () => this.#deaf.resolve());
    void this.#read(streams.output).then(() => this.close());
  }

  /** Nothing is read at present, because somebody has too much to hear already. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Resolves when the agent's output has been read to its end, or the connection was closed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Resolves when the agent takes nothing any more: it has closed its input, or lets everything
   * lie that it is sent. It may go on living and talking, and is of no use.
   */
  get deaf(): Promise<void> {
    return this.#deaf.promise;
  }

  /**
   * Calls the agent. The answer is given in its place among what else the agent says, while its
   * line is being read; without a limit it may take for ever. `late` hears of a good answer after
   * its time, for what an agent has made by then and nobody wants.
   */
  call(
    method: string,
    params: JsonObject,
    limit: CallLimit | null,
    settle: (reply: Reply) => void,
    late: Late | null = null,
  ): Result<void> {
    if (this.#calls.size >= AGENT_CALLS_OPEN_MAX) return fail("agent_busy");
    this.#lastId += 1;
    const id = this.#lastId;
    const sent = this.#write(rpc.requestLine(id, method, params));
    if (!sent.ok) return sent;
    const overdue = (limitMs: number) => this.#settle(id, { kind: "timeout", limitMs });
    const patience = limit === null ? null : new Patience(limit, overdue);
    if (!this.#isPaused) patience?.run();
    this.#calls.set(id, { settle, patience, late });
    return sent;
  }

  notify(method: string, params: JsonObject): Result<void> {
    return this.#write(rpc.notificationLine(method, params));
  }

  /** Nothing more is heard or said, and whoever waits is told so. */
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
          const wait = this.#heed(line);
          if (wait !== undefined) await this.#pauseFor(wait);
          if (this.#isClosed) return;
        }
      }
    } catch {
      // The pipe was closed under the reader, which is one more way for it to end.
    }
    const rest = lines.rest();
    if (rest !== "" && !this.#isClosed) void this.#heed(rest);
  }

  /** Whoever fails at what is said here does not keep the next line from being heard. */
  #heed(line: string | typeof OVERLONG): Promise<void> | undefined {
    if (line === OVERLONG) {
      this.#faults.add("overlong_line", "");
      return undefined;
    }
    this.#tap?.("in", line);
    try {
      return this.#hear(line);
    } catch (thrown) {
      this.#faults.add("failed_listener", String(thrown));
      return undefined;
    }
  }

  async #pauseFor(wait: Promise<void>): Promise<void> {
    this.#isPaused = true;
    for (const { patience } of this.#calls.values()) patience?.stop();
    try {
      await wait;
    } catch (thrown) {
      this.#faults.add("failed_listener", String(thrown));
    }
    this.#isPaused = false;
    for (const { patience } of this.#calls.values()) patience?.run();
  }

  #hear(line: string): Promise<void> | undefined {
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
    if (method !== CANCEL_REQUEST) return this.#peer.notified(method, params, chars);
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
    const { answer, room } = this.#ask(method, params, { chars, signal: abort.signal });
    const failed = (thrown: unknown): Served => {
      return { error: { code: rpc.RPC_ERRORS.internal, message: String(thrown) } };
    };
    void answer.catch(failed).then((served) => {
      this.#requests.delete(id);
      this.#requestChars -= chars;
      this.#answer(id, served);
    });
    return room;
  }

  #ask(method: string, params: JsonObject, asked: Asked): Serving {
    try {
      return this.#peer.requested(method, params, asked);
    } catch (thrown) {
      return { answer: Promise.reject(thrown), room: undefined };
    }
  }

  /** Never in silence: what does not fit is an error, and who reads not even that is deaf. */
  #answer(id: rpc.RpcId, served: Served) {
    if (this.#isClosed) return;
    const isError = "error" in served;
    const line = isError ? rpc.errorLine(id, served.error) : rpc.resultLine(id, served.result);
    if (this.#write(line).ok) return;
    this.#faults.add("dropped_answer", line);
    const { error } = refused("too much is waiting to be read already");
    if (!this.#write(rpc.errorLine(id, error)).ok) this.#deaf.resolve();
  }

  #settle(id: rpc.RpcId | null, reply: Reply, line = "") {
    const call = id === null ? undefined : this.#calls.get(id);
    if (id === null || call === undefined) {
      if (id === null || !this.#settleLate(id, reply)) this.#faults.add("unsolicited_answer", line);
      return;
    }
    this.#calls.delete(id);
    call.patience?.stop();
    if (reply.kind === "timeout" && call.late !== null) this.#expectLate(id, call.late);
    call.settle(reply);
  }

  /** An agent that never answers does not make us wait for more and more. */
  #expectLate(id: rpc.RpcId, late: Late) {
    this.#overdue.set(id, late);
    const [oldest] = this.#overdue.keys();
    if (this.#overdue.size > AGENT_CALLS_OPEN_MAX && oldest !== undefined) {
      this.#overdue.delete(oldest);
    }
  }

  /** False if nobody expects it. */
  #settleLate(id: rpc.RpcId, reply: Reply): boolean {
    const late = this.#overdue.get(id);
    if (late === undefined) return false;
    this.#overdue.delete(id);
    if (reply.kind === "result") late(reply.result);
    return true;
  }

  /** An agent that does not read does not make us keep for it whatever it is sent. */
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

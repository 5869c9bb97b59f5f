import type { Readable, Writable } from "node:stream";
import type { JsonObject } from "../core/json.ts";
import {
  AGENT_CALLS_OPEN_MAX,
  AGENT_LINE_BYTES_MAX,
  AGENT_OUTBOX_BYTES_MAX,
  AGENT_REQUESTS_OPEN_MAX,
} from "../core/limits.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { CANCEL_REQUEST } from "../wire/acp.ts";
import { LineSplitter, OVERLONG } from "../wire/line.ts";
import * as rpc from "../wire/rpc.ts";
import type { FaultLog } from "./fault.ts";

/** An answer to a call, or why there is none. */
export type Reply =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: rpc.RpcError }
  | { readonly kind: "timeout"; readonly limitMs: number }
  | { readonly kind: "closed" };

/** What the agent says of its own accord. */
export interface Peer {
  /** While the promise is open nothing more is read: an agent can be no faster than its session. */
  notified(method: string, params: JsonObject): Promise<void> | undefined;
  /** Never rejects. The signal fires if the agent does not want the answer any more. */
  requested(method: string, params: JsonObject, signal: AbortSignal): Promise<Served>;
}

export type Served = { readonly result: unknown } | { readonly error: rpc.RpcError };

interface Call {
  readonly settle: (reply: Reply) => void;
  readonly timer: NodeJS.Timeout | null;
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
  readonly #calls = new Map<rpc.RpcId, Call>();
  readonly #requests = new Map<rpc.RpcId, AbortController>();
  /** Resolves when the agent's output has been read to its end. */
  readonly ended: Promise<void>;
  #lastId = 0;
  #isClosed = false;

  constructor(streams: { input: Writable; output: Readable }, peer: Peer, faults: FaultLog) {
    this.#input = streams.input;
    this.#peer = peer;
    this.#faults = faults;
    // A broken pipe is no news: the output ends too, and says so to everybody who waits.
    this.#input.on("error", () => {});
    this.ended = this.#read(streams.output).finally(() => this.#close());
  }

  /** Calls the agent; the answer is given in its place among what else the agent says. */
  call(
    method: string,
    params: JsonObject,
    limitMs: number | null,
    settle: (reply: Reply) => void,
  ): Result<void> {
    if (this.#isClosed) {
      settle({ kind: "closed" });
      return ok(undefined);
    }
    if (this.#calls.size >= AGENT_CALLS_OPEN_MAX) return fail("agent_busy");
    this.#lastId += 1;
    const id = this.#lastId;
    const sent = this.#write(rpc.requestLine(id, method, params));
    if (!sent.ok) return sent;
    const late = () => this.#settle(id, { kind: "timeout", limitMs: limitMs ?? 0 });
    const timer = limitMs === null ? null : setTimeout(late, limitMs);
    this.#calls.set(id, { settle, timer });
    return sent;
  }

  notify(method: string, params: JsonObject): Result<void> {
    return this.#isClosed ? ok(undefined) : this.#write(rpc.notificationLine(method, params));
  }

  async #read(output: Readable): Promise<void> {
    const lines = new LineSplitter(AGENT_LINE_BYTES_MAX);
    try {
      for await (const chunk of output) {
        const bytes: Buffer = chunk;
        for (const line of lines.feed(bytes)) {
          const wait = line === OVERLONG ? this.#faults.add("overlong_line", "") : this.#hear(line);
          if (wait !== undefined) await wait;
        }
      }
    } catch {
      // The pipe was closed under the reader, which is one more way for it to end.
    }
    const rest = lines.rest();
    if (rest !== "" && rest !== OVERLONG) await this.#hear(rest);
  }

  #hear(line: string): Promise<void> | undefined {
    const message = rpc.readRpc(line);
    switch (message.kind) {
      case "notification":
        return this.#notified(message.method, message.params);
      case "request":
        this.#serve(message.id, message.method, message.params, line);
        return undefined;
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

  #notified(method: string, params: JsonObject): Promise<void> | undefined {
    if (method !== CANCEL_REQUEST) return this.#peer.notified(method, params);
    const { requestId } = params;
    if (rpc.isRpcId(requestId)) this.#requests.get(requestId)?.abort();
    return undefined;
  }

  #serve(id: rpc.RpcId, method: string, params: JsonObject, line: string) {
    const refuse = (message: string) =>
      this.#write(rpc.errorLine(id, { code: rpc.RPC_ERRORS.invalidRequest, message }));
    if (this.#requests.has(id)) {
      this.#faults.add("duplicate_request", line);
      refuse("a request with this id is open already");
      return;
    }
    if (this.#requests.size >= AGENT_REQUESTS_OPEN_MAX) {
      this.#faults.add("too_many_requests", line);
      refuse("too many requests are open already");
      return;
    }
    const abort = new AbortController();
    this.#requests.set(id, abort);
    void this.#peer.requested(method, params, abort.signal).then((served) => {
      this.#requests.delete(id);
      if (this.#isClosed) return;
      this.#write("error" in served ? rpc.errorLine(id, served.error) : resultOf(id, served));
    });
  }

  #settle(id: rpc.RpcId | null, reply: Reply, line = "") {
    const call = id === null ? undefined : this.#calls.get(id);
    if (id === null || call === undefined) {
      this.#faults.add("unsolicited_answer", line);
      return;
    }
    this.#calls.delete(id);
    if (call.timer !== null) clearTimeout(call.timer);
    call.settle(reply);
  }

  /** An agent that does not read does not make us keep for it whatever it is sent. */
  #write(line: string): Result<void> {
    if (this.#input.writableLength + line.length > AGENT_OUTBOX_BYTES_MAX) {
      return fail("agent_busy");
    }
    if (this.#input.writable) this.#input.write(line);
    return ok(undefined);
  }

  #close() {
    this.#isClosed = true;
    for (const id of [...this.#calls.keys()]) this.#settle(id, { kind: "closed" });
    for (const abort of this.#requests.values()) abort.abort();
    this.#requests.clear();
  }
}

function resultOf(id: rpc.RpcId, served: { readonly result: unknown }): string {
  return rpc.resultLine(id, served.result);
}

import type { Writable } from "node:stream";
import { type JsonObject, objectAt } from "../../../core/json.ts";
import { CANCEL_REQUEST } from "../../../wire/acp.ts";
import * as rpc from "../../../wire/rpc.ts";
import { BATCH_CHARS_MAX, CALLS_OPEN_MAX, EXIT_FLUSH_MS_MAX } from "./limits.ts";

/** The result or error that answers a request, of either side. */
export type EchoReply = { readonly result: unknown } | { readonly error: rpc.RpcError };

/** Echo's answer to a request; absent `times` means once. */
export type EchoAnswer = EchoReply & { readonly times?: number };

export type MethodHandler = (params: JsonObject, id: rpc.RpcId) => EchoAnswer | Promise<EchoAnswer>;

export function refusal(reason: keyof typeof rpc.RPC_ERRORS, message: string): EchoAnswer {
  return { error: { code: rpc.RPC_ERRORS[reason], message } };
}

/** JSON-RPC's code for a request that was given up; ACP has taken it over. */
const REQUEST_CANCELLED = -32_800;

/** Echo's own calls to its client. */
export class ClientLink {
  readonly #outbox: Outbox;
  readonly #open = new Map<rpc.RpcId, (reply: EchoReply) => void>();
  #lastId = 0;
  abilities: ClientAbilities = readClientAbilities({});

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  notify(method: string, params: JsonObject): Promise<undefined> | undefined {
    return this.#outbox.send(rpc.notificationLine(method, params));
  }

  /** Resolves with the client's answer, or with "cancelled" once the signal has fired. */
  call(method: string, params: JsonObject, signal: AbortSignal): Promise<EchoReply> {
    if (signal.aborted) return Promise.resolve(GIVEN_UP);
    if (this.#open.size >= CALLS_OPEN_MAX) {
      return Promise.resolve(refusal("internal", "echo waits for too many answers"));
    }
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#open.delete(id);
        this.#outbox.post(rpc.notificationLine(CANCEL_REQUEST, { requestId: id }));
        resolve(GIVEN_UP);
      };
      this.#open.set(id, (reply) => {
        signal.removeEventListener("abort", giveUp);
        resolve(reply);
      });
      signal.addEventListener("abort", giveUp, { once: true });
      this.#outbox.post(rpc.requestLine(id, method, params));
    });
  }

  /** Takes an answer of the client. An answer to nothing has no effect. */
  answered(id: rpc.RpcId | null, reply: EchoReply) {
    if (id === null) return;
    const settle = this.#open.get(id);
    this.#open.delete(id);
    settle?.(reply);
  }
}

const GIVEN_UP: EchoReply = { error: { code: REQUEST_CANCELLED, message: "echo gave it up" } };

/** What the client said it can do when it called `initialize`. */
export interface ClientAbilities {
  readonly readsFiles: boolean;
  readonly writesFiles: boolean;
  readonly hasTerminals: boolean;
  readonly hasForms: boolean;
  readonly takesBooleanOptions: boolean;
}

export function readClientAbilities(capabilities: JsonObject): ClientAbilities {
  const files = objectAt(capabilities, "fs") ?? {};
  const elicitation = objectAt(capabilities, "elicitation") ?? {};
  const session = objectAt(capabilities, "session") ?? {};
  return {
    readsFiles: files.readTextFile === true,
    writesFiles: files.writeTextFile === true,
    hasTerminals: capabilities.terminal === true,
    hasForms: objectAt(elicitation, "form") !== null,
    takesBooleanOptions: objectAt(objectAt(session, "configOptions") ?? {}, "boolean") !== null,
  };
}

/**
 * Everything that echo writes, in order. What it writes in one turn of the event loop goes out in
 * one write. A caller that awaits the promise of `send` waits for a slow reader.
 */
export class Outbox {
  readonly #output: Writable;
  #batch = "";
  #isScheduled = false;
  #full: Promise<undefined> | undefined;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** Undefined while the reader keeps up, else a promise for when it has. */
  send(text: string): Promise<undefined> | undefined {
    this.post(text);
    return this.#full;
  }

  /** For answers and the like: there are no more of them than the client has asked for. */
  post(text: string) {
    this.#batch += text;
    if (this.#batch.length >= BATCH_CHARS_MAX) this.#flush();
    else this.#flushSoon();
  }

  /** Resolves when everything is written, or the reader has had its time. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, EXIT_FLUSH_MS_MAX).unref();
      const last = this.#batch;
      this.#batch = "";
      this.#output.write(last, () => resolve());
    });
  }

  #flushSoon() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush() {
    if (this.#batch === "") return;
    const batch = this.#batch;
    this.#batch = "";
    if (this.#output.write(batch) || this.#full !== undefined) return;
    this.#full = new Promise((resolve) => {
      this.#output.once("drain", () => {
        this.#full = undefined;
        resolve(undefined);
      });
    });
  }
}

import { type JsonObject, objectAt } from "../../../core/json.ts";
import { CANCEL_REQUEST } from "../../../wire/acp.ts";
import * as rpc from "../../../wire/rpc.ts";
import { CALLS_OPEN_MAX } from "./limits.ts";
import type { Outbox } from "./outbox.ts";

export type Reply = { readonly result: unknown } | { readonly error: rpc.RpcError };

/** JSON-RPC's code for a request that was given up; ACP took it over. */
const REQUEST_CANCELLED = -32_800;

/** Echo's own calls to its client. */
export class ClientLink {
  readonly #outbox: Outbox;
  readonly #open = new Map<rpc.RpcId, (reply: Reply) => void>();
  #lastId = 0;
  abilities: ClientAbilities = readClientAbilities({});

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  notify(method: string, params: JsonObject): Promise<undefined> | undefined {
    return this.#outbox.send(rpc.notificationLine(method, params));
  }

  /** Answers with what the client says, or with "cancelled" once the signal has fired. */
  call(method: string, params: JsonObject, signal: AbortSignal): Promise<Reply> {
    if (signal.aborted) return Promise.resolve(GIVEN_UP);
    if (this.#open.size >= CALLS_OPEN_MAX) return Promise.resolve(TOO_MANY);
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

  /** An answer of the client; one to nothing is let go. */
  answered(id: rpc.RpcId | null, reply: Reply) {
    if (id === null) return;
    const settle = this.#open.get(id);
    this.#open.delete(id);
    settle?.(reply);
  }
}

const GIVEN_UP: Reply = { error: { code: REQUEST_CANCELLED, message: "echo gave it up" } };
const TOO_MANY: Reply = {
  error: { code: rpc.RPC_ERRORS.internal, message: "echo waits for too many answers" },
};

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

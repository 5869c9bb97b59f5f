import type { JsonObject } from "../../../core/json.ts";
import { RPC_ERRORS, type RpcId } from "../../../wire/rpc.ts";
import type { Reply } from "./client-link.ts";

/** What serving a request comes to. */
export type Answer = Reply & {
  /** Absent means once. */
  readonly times?: number;
};

export type Serve = (params: JsonObject, id: RpcId) => Answer | Promise<Answer>;

export function refusal(reason: keyof typeof RPC_ERRORS, message: string): Answer {
  return { error: { code: RPC_ERRORS[reason], message } };
}

import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { AgentConnection, Reply } from "../connection.ts";
import type { CallLimit } from "../patience.ts";

/** An agent that can be called, with what is needed to say why a call came to nothing. */
export interface Callee {
  readonly connection: AgentConnection;
  /** Its words without the secrets that it was given. */
  readonly redacted: (text: string) => string;
  /** How it ended. Asked only of one that has. */
  exit(): Promise<string>;
}

/** Whoever has to know of a good answer otherwise than by the promise. */
export interface Hearing {
  /**
   * At its place among the agent's other words, which the promise may be too late for: the next
   * line is often in the same chunk.
   */
  readonly settled?: ((answer: JsonObject) => void) | undefined;
  /** After its time, when the promise has told of a timeout already. */
  readonly late?: ((answer: JsonObject) => void) | undefined;
}

/** A control call, with its answer as a result: an agent's refusal is one, and so is silence. */
export async function request(
  callee: Callee,
  method: string,
  params: JsonObject,
  limit: CallLimit,
  { settled, late }: Hearing = {},
): Promise<Result<JsonObject>> {
  const answered = await new Promise<Result<JsonObject>>((resolve) => {
    const settle = (reply: Reply) => {
      const answer = answerOf(callee, method, reply);
      if (answer.ok) settled?.(answer.value);
      resolve(answer);
    };
    const overdue = (result: unknown) => late?.(isObject(result) ? result : {});
    const sent = callee.connection.call(method, params, limit, settle, late ? overdue : null);
    if (!sent.ok) resolve(sent);
  });
  if (answered.ok || answered.refusal.code !== "agent_gone") return answered;
  return fail("agent_gone", { exit: await callee.exit(), method });
}

function answerOf(callee: Callee, method: string, reply: Reply): Result<JsonObject> {
  switch (reply.kind) {
    case "result":
      return ok(isObject(reply.result) ? reply.result : {});
    case "timeout":
      return fail("agent_call_timeout", { method, limitMs: reply.limitMs });
    case "closed":
      return fail("agent_gone", { method });
    case "error": {
      const { code } = reply.error;
      if (code === RPC_ERRORS.methodNotFound) return fail("agent_unsupported", { method });
      const reason = wordsOf(reply.error, callee.redacted);
      return fail("agent_call_failed", { method, reason, rpcCode: code });
    }
  }
}

/** Many agents say only "Internal error" and put what happened into `data`. */
export function wordsOf({ message, data }: RpcError, redacted: Callee["redacted"]): string {
  const more = isObject(data) ? (stringAt(data, "details") ?? stringAt(data, "message")) : data;
  const text = typeof more === "string" && more !== message ? `${message}: ${more}` : message;
  return cutText(redacted(text), ERROR_MESSAGE_CHARS_MAX);
}

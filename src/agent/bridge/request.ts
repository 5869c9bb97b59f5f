import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { AgentConnection, Reply } from "../connection.ts";

/** A control call, with its answer as a result: an agent's refusal is one, and so is silence. */
export function request(
  connection: AgentConnection,
  method: string,
  params: JsonObject,
  limitMs: number,
): Promise<Result<JsonObject>> {
  return new Promise((resolve) => {
    const sent = connection.call(method, params, limitMs, (reply) =>
      resolve(resultOf(method, reply)),
    );
    if (!sent.ok) resolve(sent);
  });
}

function resultOf(method: string, reply: Reply): Result<JsonObject> {
  switch (reply.kind) {
    case "result":
      return ok(isObject(reply.result) ? reply.result : {});
    case "timeout":
      return fail("agent_call_timeout", { method, limitMs: reply.limitMs });
    case "closed":
      return fail("agent_gone", { exit: "its output ended" });
    case "error": {
      const { code } = reply.error;
      if (code === RPC_ERRORS.methodNotFound) return fail("agent_unsupported", { method });
      return fail("agent_call_failed", { method, reason: reasonOf(reply.error), rpcCode: code });
    }
  }
}

/** Many agents say only "Internal error" and put what happened into `data`. */
export function reasonOf({ message, data }: RpcError): string {
  const more = isObject(data) ? (stringAt(data, "details") ?? stringAt(data, "message")) : data;
  const text = typeof more === "string" && more !== message ? `${message}: ${more}` : message;
  return text.slice(0, ERROR_MESSAGE_CHARS_MAX);
}

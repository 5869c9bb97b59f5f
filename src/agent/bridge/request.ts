import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { ERROR_DATA_CHARS_MAX, ERROR_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { AgentExit } from "../../core/session/event.ts";
import { cutText } from "../../core/text.ts";
import { AGENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { AgentGone } from "../agent.ts";
import type { CallLimit } from "../call-limit.ts";
import type { AgentConnection, CallOutcome } from "../connection.ts";

/** An agent that can be called, with what is needed to say why a call failed. */
export interface Callee {
  readonly connection: AgentConnection;
  /** Removes the secrets of the agent's environment from a text. */
  readonly redacted: (text: string) => string;
  /** How the process ended. Called only after its end. */
  exit(): Promise<string>;
}

/** Called with a good answer, beside the promise. */
export interface AnswerObserver {
  /** Called with the id of the call when it has been sent. */
  readonly sent?: ((callId: number) => void) | undefined;
  /**
   * Called in order with the agent's other messages. A promise would be too late for that: the
   * next line is often in the same chunk.
   */
  readonly settled?: ((answer: JsonObject) => void) | undefined;
  /** Called after the timeout, with which the promise has resolved already. */
  readonly late?: ((answer: JsonObject) => void) | undefined;
}

/** Makes a control call. An agent's error, and a timeout, are refusals of the result. */
export async function request(
  callee: Callee,
  method: string,
  params: JsonObject,
  limit: CallLimit,
  { sent: wasSent, settled, late }: AnswerObserver = {},
): Promise<Result<JsonObject>> {
  const answered = await new Promise<Result<JsonObject>>((resolve) => {
    const settle = (outcome: CallOutcome) => {
      const answer = answerOf(callee, method, outcome);
      if (answer.ok) settled?.(answer.value);
      resolve(answer);
    };
    const overdue = (result: unknown) => late?.(isObject(result) ? result : {});
    const sent = callee.connection.call(method, params, limit, settle, late ? overdue : null);
    if (sent.ok) wasSent?.(callee.connection.lastCallId);
    else resolve(sent);
  });
  if (answered.ok || answered.refusal.code !== "agent_gone") return answered;
  return fail("agent_gone", { exit: await callee.exit(), method });
}

/** The calls with a time limit of their own. */
const RESTORING: ReadonlySet<string> = new Set([
  AGENT_METHODS.loadSession,
  AGENT_METHODS.resumeSession,
]);

function answerOf(callee: Callee, method: string, outcome: CallOutcome): Result<JsonObject> {
  switch (outcome.kind) {
    case "result":
      return ok(isObject(outcome.result) ? outcome.result : {});
    case "timeout":
      return fail("agent_call_timeout", {
        ...{ method, limitMs: outcome.limitMs },
        option: RESTORING.has(method) ? "--session-restore-timeout-ms" : "--initialize-timeout-ms",
      });
    case "closed":
      return fail("agent_gone", { method });
    case "error": {
      const { code } = outcome.error;
      if (code === RPC_ERRORS.methodNotFound) return fail("agent_unsupported", { method });
      const reason = errorText(outcome.error, callee.redacted);
      const data = errorData(outcome.error, callee.redacted);
      return fail("agent_call_failed", { method, reason, rpcCode: code, ...(data && { data }) });
    }
  }
}

/** What JSON-RPC calls every error that has no name: it tells people nothing. */
const NAMELESS = "Internal error";

/** The text of an error. Many agents say only "Internal error" and put the cause into `data`. */
export function errorText({ message, data }: RpcError, redacted: Callee["redacted"]): string {
  const cause = causeIn(data);
  const isWhole = cause === null || cause === message;
  const text = isWhole ? message : message === NAMELESS ? cause : `${message}: ${cause}`;
  return cutText(redacted(text), ERROR_MESSAGE_CHARS_MAX);
}

/** Words in the data of an error; some agents pass on the answer of their model as it is. */
function causeIn(data: unknown): string | null {
  if (typeof data === "string") return data || null;
  if (!isObject(data)) return null;
  const named = stringAt(data, "details") || stringAt(data, "message");
  return named || stringAt(objectAt(data, "error") ?? {}, "message") || null;
}

/** What an agent adds to its error, for programs; null if that is no small object. */
function errorData({ data }: RpcError, redacted: Callee["redacted"]): JsonObject | null {
  if (!isObject(data)) return null;
  const text = JSON.stringify(data);
  if (text.length > ERROR_DATA_CHARS_MAX) return null;
  // With a secret in it, it is left out: what the guard puts in its place may be no JSON.
  return redacted(text) === text ? data : null;
}

export function describeExit({ exitCode, signalCode }: AgentExit): string {
  return signalCode === null ? `exit code ${exitCode ?? "unknown"}` : `signal ${signalCode}`;
}

/** The same with the end of its error output, which usually is the reason. */
export function describeGone(gone: AgentGone): string {
  const exit = describeExit(gone);
  return gone.message === "" ? exit : `${exit}; it said: ${gone.message}`;
}

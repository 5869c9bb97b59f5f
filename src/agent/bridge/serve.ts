import { errorBody, type Refusal } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { ok, type Result } from "../../core/result.ts";
import { CLIENT_METHODS } from "../../wire/acp.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { Serving } from "../connection.ts";
import { readTextFile, writeTextFile } from "../workspace/files.ts";
import { elicitationAnswer, elicitationAsk, permissionAnswer, permissionAsk } from "./ask.ts";
import type { Errand } from "./errands.ts";
import type { BridgeSession } from "./session.ts";

/**
 * What an agent may ask of us, all of it within its session's workspace. It is taken in at once,
 * while the agent's words are what they were when it asked, and done when its time has come.
 */
type Handler = (
  session: BridgeSession,
  params: JsonObject,
) => (signal: AbortSignal) => Promise<Result<unknown>>;

const HANDLERS: Readonly<Record<string, Handler>> = {
  [CLIENT_METHODS.requestPermission]: (session, params) => {
    const ask = permissionAsk(params, session.toolCalls);
    return async (signal) => ok(permissionAnswer(await session.ask(ask, signal)));
  },
  [CLIENT_METHODS.createElicitation]: (session, params) => async (signal) => {
    // Only forms are offered to agents; a page to be visited nobody could be sent to.
    if (params.mode !== undefined && params.mode !== "form") return ok({ action: "decline" });
    const ask = elicitationAsk(params, `question-${session.nextQuestion()}`);
    return ok(elicitationAnswer(params, await session.ask(ask, signal)));
  },
  [CLIENT_METHODS.readTextFile]: (session, params) => () => {
    const { own, order } = session;
    const { workspace } = order;
    const [path, line, limit] = [
      textOf(params, "path"),
      countOf(params.line),
      countOf(params.limit),
    ];
    return readTextFile({ workspace, path, line, limit, own }, session.audit);
  },
  [CLIENT_METHODS.writeTextFile]: (session, params) => async () => {
    const { own, order } = session;
    const { workspace } = order;
    const [path, content] = [textOf(params, "path"), textOf(params, "content")];
    const written = await writeTextFile({ workspace, path, content, own }, session.audit);
    return written.ok ? ok({}) : written;
  },
  [CLIENT_METHODS.createTerminal]:
    ({ terminals }, params) =>
    () =>
      terminals.create(params),
  [CLIENT_METHODS.terminalOutput]:
    ({ terminals }, params) =>
    async () =>
      terminals.output(textOf(params, "terminalId")),
  [CLIENT_METHODS.waitForTerminalExit]:
    ({ terminals }, params) =>
    (signal) =>
      terminals.waitForExit(textOf(params, "terminalId"), signal),
  [CLIENT_METHODS.killTerminal]:
    ({ terminals }, params) =>
    () =>
      terminals.kill(textOf(params, "terminalId")),
  [CLIENT_METHODS.releaseTerminal]:
    ({ terminals }, params) =>
    () =>
      terminals.release(textOf(params, "terminalId")),
};

export function isServed(method: string): boolean {
  return Object.hasOwn(HANDLERS, method);
}

/** Whatever goes wrong is an answer to the agent, and never more than that. */
export function prepare(session: BridgeSession, method: string, params: JsonObject): Errand {
  const act = HANDLERS[method]?.(session, params);
  return {
    isFile: FILE_METHODS.has(method),
    act: async (signal) => {
      try {
        const served = await act?.(signal);
        if (served === undefined) return { error: notFound(method) };
        return served.ok ? { result: served.value } : { error: errorOf(served.refusal) };
      } catch (thrown) {
        return { error: { code: RPC_ERRORS.internal, message: String(thrown) } };
      }
    },
  };
}

const FILE_METHODS: ReadonlySet<string> = new Set([
  CLIENT_METHODS.readTextFile,
  CLIENT_METHODS.writeTextFile,
]);

/** The answer to what nobody will see to. */
export function refusal(error: RpcError): Serving {
  return { answer: Promise.resolve({ error }), room: undefined };
}

export function notFound(method: string): RpcError {
  return { code: RPC_ERRORS.methodNotFound, message: `Method not found: ${method}` };
}

function errorOf(refusal: Refusal): RpcError {
  const { error, ...data } = errorBody(refusal);
  const isMissing = refusal.code === "file_unavailable" || refusal.code === "terminal_not_found";
  const code = isMissing ? RPC_ERRORS.resourceNotFound : RPC_ERRORS.invalidParams;
  return { code, message: String(error), data };
}

function textOf(params: JsonObject, key: string): string {
  return stringAt(params, key) ?? "";
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

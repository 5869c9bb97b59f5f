import { errorBody, type Refusal, refusal } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import { AGENT_QUEUE_CHARS_MAX, COMMAND_SHOWN_CHARS_MAX } from "../../core/limits.ts";
import type { Access } from "../../core/policy/access.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Semaphore } from "../../platform/semaphore.ts";
import { CLIENT_METHODS, VENDOR_METHODS } from "../../wire/acp.ts";
import { whyRefused } from "../../wire/acp-coverage.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { AccessAnswer } from "../agent.ts";
import type { RequestContext, Served, Serving } from "../connection.ts";
import { readCommand, shownLine } from "../workspace/command.ts";
import { permissionAnswer, permissionAsk } from "./ask.ts";
import { formAnswer, formAsk } from "./elicitation.ts";
import type { Inbox } from "./inbox.ts";
import { readPage, showPage } from "./pages.ts";
import type { BridgeSession } from "./session.ts";
import { requestedFile, withOutside } from "./write-roots.ts";

/** A request of the agent to the server. */
export interface AgentRequest {
  /** The server holds a file in memory whole, so only a few may run at once. */
  readonly isFile: boolean;
  /**
   * Finds out what has to be known before; undefined if that is nothing. What the agent sent later
   * waits for it, and so does the end of its turn. Never rejects.
   */
  prepare?(): Promise<void> | undefined;
  /** Decides whether it may be done, where that needs a decision. Never rejects. */
  permit?(signal: AbortSignal): Promise<RequestPermission>;
  /** Never rejects. */
  act(signal: AbortSignal): Promise<Served>;
}

/** Null if it may be done, else the refusal; or people have to decide. */
type RequestPermission = Served | null | { readonly people: Promise<Served | null> };

/**
 * The open requests of an agent in one session. A request waits in the inbox behind the agent's
 * earlier messages, and its size counts there: an agent that asks for more than the server can do
 * is not read for a while (P10).
 */
export class AgentRequests {
  readonly #inbox: Inbox;
  readonly #files: Semaphore;
  readonly #open = new Set<AbortController>();
  #heldChars = 0;
  #isOver = false;

  /** All sessions of a process share the semaphore for files. */
  constructor(inbox: Inbox, files: Semaphore) {
    this.#inbox = inbox;
    this.#files = files;
  }

  /**
   * Serves a request after all that the agent sent before. While it is being decided, or a file is
   * being read or written, the listener gets nothing more of the session. What takes as long as
   * people do holds nothing up, and may be done after the agent's later requests.
   */
  inOrder(request: AgentRequest, context: RequestContext): Serving {
    if (this.#isOver) return answered(OVER);
    const { answer, run } = this.#begin(request, context);
    const capacity = this.#inbox.add(context.chars, () => {
      const prepared = request.prepare?.();
      if (prepared !== undefined) return prepared.then(() => void run());
      const done = run();
      return request.isFile || request.permit ? done : undefined;
    });
    return { answer, capacity };
  }

  /** For an agent that needs the answer before the session has a listener. */
  atOnce(request: AgentRequest, context: RequestContext): Serving {
    if (this.#isOver) return answered(OVER);
    const { answer, run } = this.#begin(request, context);
    void (request.prepare?.() ?? Promise.resolve()).then(run);
    return { answer, capacity: undefined };
  }

  /** Answers all open requests, and every later one, with an error. */
  end() {
    this.#isOver = true;
    for (const end of this.#open) end.abort();
  }

  #begin({ isFile, permit, act }: AgentRequest, { signal, chars }: RequestContext) {
    const { promise, resolve } = Promise.withResolvers<Served>();
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    end.signal.addEventListener("abort", () => resolve(OVER), { once: true });
    this.#open.add(end);
    const perform = async (refused: Served | null) => {
      if (refused !== null) return resolve(refused);
      const release = isFile ? await this.#files.acquire() : () => {};
      // The audit of the act may end with the session, and then never answers.
      end.signal.addEventListener("abort", release, { once: true });
      resolve(either.aborted ? OVER : await act(either));
      release();
    };
    const begin = async () => {
      if (permit === undefined) return perform(null);
      if (this.#heldChars > 0 && this.#heldChars + chars > AGENT_QUEUE_CHARS_MAX) {
        return resolve(TOO_MUCH);
      }
      const permission = await permit(either);
      if (permission === null || !("people" in permission)) await perform(permission);
      else void this.#held(permission.people, chars).then(perform);
    };
    // By contract nothing rejects. If it does, the agent still gets an answer.
    const run = () => begin().catch((thrown: unknown) => resolve(internalError(thrown)));
    const answer = promise.finally(() => this.#open.delete(end));
    return { answer, run };
  }

  /** A request that people decide stays in memory as long as they take, within a limit. */
  async #held(people: Promise<Served | null>, chars: number): Promise<Served | null> {
    this.#heldChars += chars;
    try {
      return await people;
    } finally {
      this.#heldChars -= chars;
    }
  }
}

const TOO_MUCH = errorAnswer(
  RPC_ERRORS.invalidRequest,
  "too much is waiting for people's permission; wait for their answers first",
);

const OVER = errorAnswer(RPC_ERRORS.invalidRequest, "the session is over");

/** An answer that is there at once. */
export function answered(served: Served): Serving {
  return { answer: Promise.resolve(served), capacity: undefined };
}

export function errorAnswer(code: number, message: string): Served {
  return { error: { code, message } };
}

/** With the reason, where ACP has the method and the server does not serve it. */
export function notFound(method: string): Served {
  const why = whyRefused(method);
  const reason = why === null ? "" : ` (${why})`;
  return errorAnswer(RPC_ERRORS.methodNotFound, `Method not found: ${method}${reason}`);
}

function internalError(thrown: unknown): Served {
  return errorAnswer(RPC_ERRORS.internal, String(thrown));
}

/** Reads a request when it comes, while earlier messages still hold, and does it later. */
type RequestReader = (
  session: BridgeSession,
  params: JsonObject,
) => RequestAction | PreparedAction | GuardedAction;

type RequestAction = (signal: AbortSignal) => Promise<Result<unknown>>;

/** An action that has to look first, before anything that the agent sent later. */
interface PreparedAction extends Required<Pick<AgentRequest, "prepare">> {
  readonly perform: RequestAction;
}

/** An action that needs permission: what it accesses, and how it is done then. */
interface GuardedAction {
  access(): Promise<Result<Access>>;
  act(permitted: Access): Promise<Result<unknown>>;
}

/** What an agent may ask of the server, all of it within its session's workspace. */
const READERS: Readonly<Record<string, RequestReader>> = {
  [CLIENT_METHODS.requestPermission]: (session, params) => {
    let ask = permissionAsk(params, session.toolCalls);
    return {
      prepare: () =>
        withOutside(session, ask)?.then(
          (judged) => {
            ask = judged;
          },
          () => {}, // Then people decide.
        ),
      perform: async (signal) => ok(permissionAnswer(await session.ask(ask, signal))),
    };
  },
  [CLIENT_METHODS.createElicitation]: (session, params) => async (signal) => {
    const { mode = "form" } = params;
    if (mode === "url") {
      const page = readPage(params);
      return page.ok ? showPage(session, page.value, signal) : page;
    }
    if (mode !== "form") return fail("elicitation_invalid", { reason: `its mode is "${mode}"` });
    const ask = formAsk(params, session.nextQuestion());
    return ok(formAnswer(params, await session.ask(ask, signal)));
  },
  [CLIENT_METHODS.readTextFile]: (session, params) => {
    const [line, limit] = [countOf(params.line), countOf(params.limit)];
    const file = requestedFile(session, textOf(params, "path"), "read");
    return {
      access: file.access,
      act: (access) => {
        const request = { ...file.reached(), line, limit, ...permitted(access) };
        return session.files.read(request, file.audit);
      },
    };
  },
  [CLIENT_METHODS.writeTextFile]: (session, params) => {
    const content = stringAt(params, "content");
    const file = requestedFile(session, textOf(params, "path"), "write");
    session.host.writesByServer = true;
    return {
      access: async () => {
        // Without content the write would empty the file.
        if (content === null) {
          return fail("file_unavailable", { path: file.path, reason: NO_CONTENT });
        }
        return file.access();
      },
      act: async (access) => {
        const request = { ...file.reached(), content: content ?? "", ...permitted(access) };
        const written = await session.files.write(request, file.audit);
        return written.ok ? ok({}) : written;
      },
    };
  },
  [CLIENT_METHODS.createTerminal]: (session, params) => ({
    access: () => terminalAccess(session, params),
    act: (access) => {
      const directory = access.action === "terminal" ? access.cwd : undefined;
      return session.terminals.create(params, directory);
    },
  }),
  [CLIENT_METHODS.terminalOutput]: (session, params) => async () =>
    session.terminals.output(textOf(params, "terminalId")),
  [CLIENT_METHODS.waitForTerminalExit]: (session, params) => (signal) =>
    session.terminals.waitForExit(textOf(params, "terminalId"), signal),
  [CLIENT_METHODS.killTerminal]: (session, params) => () =>
    session.terminals.kill(textOf(params, "terminalId")),
  [CLIENT_METHODS.releaseTerminal]: (session, params) => () =>
    session.terminals.release(textOf(params, "terminalId")),
  [VENDOR_METHODS.takeMessages]: (session) => async () => ok(await session.turns.takeMessages()),
  [VENDOR_METHODS.mayGoOn]: (session) => async () => ok(session.turns.mayGoOn()),
};

const NO_CONTENT = "it was not said what to write";

const FILE_METHODS: ReadonlySet<string> = new Set([
  CLIENT_METHODS.readTextFile,
  CLIENT_METHODS.writeTextFile,
]);

export function isServed(method: string): boolean {
  return Object.hasOwn(READERS, method);
}

/** Every failure becomes an error answer to the agent. */
export function readRequest(
  session: BridgeSession,
  method: string,
  params: JsonObject,
): AgentRequest {
  const action = READERS[method]?.(session, params);
  const isFile = FILE_METHODS.has(method);
  if (action === undefined) return { isFile, act: async () => notFound(method) };
  if (typeof action === "function") {
    return { isFile, act: (signal) => servedBy(() => action(signal)) };
  }
  if ("prepare" in action) {
    const { prepare, perform } = action;
    return { isFile, prepare, act: (signal) => servedBy(() => perform(signal)) };
  }
  let permitted: Access | null = null;
  return {
    isFile,
    permit: async (signal) => {
      try {
        const access = await action.access();
        if (!access.ok) return { error: errorOf(access.refusal) };
        permitted = access.value;
        const decision = await session.listener.access(access.value, signal);
        if (!("people" in decision)) return refusedBy(decision);
        return { people: decision.people.then(refusedBy) };
      } catch (thrown) {
        return internalError(thrown);
      }
    },
    act: () => servedBy(async () => (permitted === null ? UNPERMITTED : action.act(permitted))),
  };
}

const UNPERMITTED = fail("access_refused", { reason: "nobody was asked" });

function refusedBy({ allowed, reason }: AccessAnswer): Served | null {
  return allowed ? null : { error: errorOf(refusal("access_refused", { reason })) };
}

async function servedBy(act: () => Promise<Result<unknown>>): Promise<Served> {
  try {
    const served = await act();
    return served.ok ? { result: served.value } : { error: errorOf(served.refusal) };
  } catch (thrown) {
    return internalError(thrown);
  }
}

function permitted(access: Access) {
  return access.action === "terminal" ? {} : { permitted: access.path };
}

async function terminalAccess(session: BridgeSession, params: JsonObject): Promise<Result<Access>> {
  const request = readCommand(params);
  if (typeof request === "string") {
    const command = textOf(params, "command").slice(0, COMMAND_SHOWN_CHARS_MAX);
    return fail("terminal_failed", { command, reason: request });
  }
  const { workspace, cwd } = session.request;
  const path = request.cwd ?? cwd;
  // Compare real paths: the session's own directory may be named through a link.
  const [at, home] = await Promise.all([
    session.files.realPathOf({ workspace, path, own: session.own }, "write"),
    session.files.realPathOf({ workspace, path: cwd, own: session.own }, "write"),
  ]);
  if (!at.ok) return at;
  const directory = home.ok && home.value === at.value ? cwd : at.value;
  const command = shownLine(request, directory, cwd);
  if (command.trim() === "") {
    return fail("terminal_failed", { command, reason: "there is no command" });
  }
  return ok({ action: "terminal", command, cwd: at.value });
}

function errorOf(refused: Refusal): RpcError {
  const { error, ...data } = errorBody(refused);
  const isMissing = refused.code === "file_unavailable" || refused.code === "terminal_not_found";
  const code = isMissing ? RPC_ERRORS.resourceNotFound : RPC_ERRORS.invalidParams;
  return { code, message: String(error), data };
}

function textOf(params: JsonObject, key: string): string {
  return stringAt(params, key) ?? "";
}

function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

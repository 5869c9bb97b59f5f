import { AGENT_QUEUE_CHARS_MAX, COMMAND_SHOWN_CHARS_MAX } from "../../core/limits.ts";
import { RPC_ERRORS, type RpcError } from "../../wire/rpc.ts";
import type { RequestContext, Served, Serving } from "../connection.ts";
import type { Inbox } from "./inbox.ts";
import type { Turnstile } from "./turnstile.ts";
import { errorBody, type Refusal, refusal as refusalOf } from "../../core/error.ts";
import { type JsonObject, stringAt } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { CLIENT_METHODS } from "../../wire/acp.ts";
import type { AccessAnswer } from "../agent.ts";
import { readOrder, shownLine } from "../workspace/command.ts";
import { readTextFile, realPathOf, writeTextFile } from "../workspace/files.ts";
import { elicitationAnswer, elicitationAsk, permissionAnswer, permissionAsk } from "./ask.ts";
import type { BridgeSession } from "./session.ts";

/** Something that an agent wants of us. */
export interface Errand {
  /** A file is held in memory whole, so that only a few may be at once. */
  readonly isFile: boolean;
  /** Decides whether it may be done, where that is to be decided. Null if it may; never rejects. */
  permit?(signal: AbortSignal): Promise<Permission>;
  /** Never rejects. */
  act(signal: AbortSignal): Promise<Served>;
}

/** May be done, is answered with a refusal, or people have to say. */
type Permission = Served | null | { readonly people: Promise<Served | null> };

/**
 * What an agent wants of us in one session and has no answer to yet. It waits among the agent's
 * words for its turn, and weighs there what it took to say: an agent that asks for more than we
 * get done is not read any further for a while (P10).
 */
export class Errands {
  readonly #inbox: Inbox;
  readonly #files: Turnstile;
  readonly #open = new Set<AbortController>();
  #heldChars = 0;
  #isOver = false;

  /** Processes have one turnstile for the files of all their sessions. */
  constructor(inbox: Inbox, files: Turnstile) {
    this.#inbox = inbox;
    this.#files = files;
  }

  /**
   * After all that the agent said before. While something is decided, or a file is being read or
   * written, nothing more of the session is told; what takes as long as people do holds nothing
   * up, and may be done after what the agent wanted later.
   */
  inTurn(errand: Errand, asked: RequestContext): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), capacity: undefined };
    const { answer, run } = this.#begin(errand, asked);
    const room = this.#inbox.add(asked.chars, () => {
      const done = run();
      return errand.isFile || errand.permit ? done : undefined;
    });
    return { answer, room };
  }

  /** For an agent that has to have its answer before anybody hears its words. */
  atOnce(errand: Errand, asked: RequestContext): Serving {
    if (this.#isOver) return { answer: Promise.resolve(OVER), capacity: undefined };
    const { answer, run } = this.#begin(errand, asked);
    void run();
    return { answer, capacity: undefined };
  }

  /** All of them are given up, and no further ones are taken. */
  end() {
    this.#isOver = true;
    for (const end of this.#open) end.abort();
  }

  #begin({ isFile, permit, act }: Errand, { signal, chars }: RequestContext) {
    const { promise, resolve } = Promise.withResolvers<Served>();
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    end.signal.addEventListener("abort", () => resolve(OVER), { once: true });
    this.#open.add(end);
    const perform = async (refused: Served | null) => {
      if (refused !== null) return resolve(refused);
      const leave = isFile ? await this.#files.enter() : () => {};
      // Whoever records the act may be gone with the session, and never answer.
      end.signal.addEventListener("abort", leave, { once: true });
      resolve(either.aborted ? OVER : await act(either));
      leave();
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
    // None of it rejects by its contract; if it does all the same, the agent has its answer.
    const run = () => begin().catch((thrown: unknown) => resolve(failedWith(thrown)));
    const answer = promise.finally(() => this.#open.delete(end));
    return { answer, run };
  }

  /** What people are asked about stays in memory for as long as they take, within a limit. */
  async #held(people: Promise<Served | null>, chars: number): Promise<Served | null> {
    this.#heldChars += chars;
    try {
      return await people;
    } finally {
      this.#heldChars -= chars;
    }
  }
}

function failedWith(thrown: unknown): Served {
  return { error: { code: RPC_ERRORS.internal, message: String(thrown) } };
}

const TOO_MUCH: Served = {
  error: {
    code: RPC_ERRORS.invalidRequest,
    message: "too much is waiting for people's permission; wait for their answers first",
  },
};

const OVER: Served = {
  error: { code: RPC_ERRORS.invalidRequest, message: "the session is over" },
};

/**
 * What an agent may ask of us, all of it within its session's workspace. It is taken in at once,
 * while the agent's words are what they were when it asked, and done when its time has come.
 */
type Handler = (session: BridgeSession, params: JsonObject) => Work;

type Work = Act | Touch;

type Act = (signal: AbortSignal) => Promise<Result<unknown>>;

/** Something that has to be permitted: what it comes to, and how it is done then. */
interface Touch {
  access(): Promise<Result<Access>>;
  act(permitted: Access): Promise<Result<unknown>>;
}

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
  [CLIENT_METHODS.readTextFile]: (session, params) => {
    const [line, limit] = [countOf(params.line), countOf(params.limit)];
    const order = { ...fileOf(session, params), line, limit };
    return {
      access: async () => fileAccess("read", await realPathOf(order, "read")),
      act: (access) => readTextFile({ ...order, ...permitted(access) }, session.audit),
    };
  },
  [CLIENT_METHODS.writeTextFile]: (session, params) => {
    const content = stringAt(params, "content");
    const order = { ...fileOf(session, params), content: content ?? "" };
    return {
      access: async () => {
        // What says nothing of its content would empty the file.
        if (content === null)
          return fail("file_unavailable", { path: order.path, reason: NOTHING });
        return fileAccess("write", await realPathOf(order, "write"));
      },
      act: async (access) => {
        const written = await writeTextFile({ ...order, ...permitted(access) }, session.audit);
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
  const work = HANDLERS[method]?.(session, params);
  const isFile = FILE_METHODS.has(method);
  if (work === undefined) return { isFile, act: async () => ({ error: notFound(method) }) };
  if (typeof work === "function") return { isFile, act: (signal) => answered(() => work(signal)) };
  let permitted: Access | null = null;
  return {
    isFile,
    permit: async (signal) => {
      try {
        const access = await work.access();
        if (!access.ok) return { error: errorOf(access.refusal) };
        permitted = access.value;
        const decision = await session.permit(access.value, signal);
        if (!("people" in decision)) return refusedBy(decision);
        return { people: decision.people.then(refusedBy) };
      } catch (thrown) {
        return { error: { code: RPC_ERRORS.internal, message: String(thrown) } };
      }
    },
    act: () => answered(async () => (permitted === null ? UNPERMITTED : work.act(permitted))),
  };
}

const UNPERMITTED = fail("access_refused", { reason: "nobody was asked" });

function refusedBy({ allowed, reason }: AccessAnswer): Served | null {
  return allowed ? null : { error: errorOf(refusalOf("access_refused", { reason })) };
}

async function answered(act: () => Promise<Result<unknown>>): Promise<Served> {
  try {
    const served = await act();
    return served.ok ? { result: served.value } : { error: errorOf(served.refusal) };
  } catch (thrown) {
    return { error: { code: RPC_ERRORS.internal, message: String(thrown) } };
  }
}

function fileOf({ own, order }: BridgeSession, params: JsonObject) {
  return { workspace: order.workspace, path: textOf(params, "path"), own };
}

function fileAccess(action: "read" | "write", path: Result<string>): Result<Access> {
  return path.ok ? ok({ action, path: path.value }) : path;
}

function permitted(access: Access) {
  return access.action === "terminal" ? {} : { permitted: access.path };
}

async function terminalAccess(session: BridgeSession, params: JsonObject): Promise<Result<Access>> {
  const order = readOrder(params);
  if (typeof order === "string") {
    const command = textOf(params, "command").slice(0, COMMAND_SHOWN_CHARS_MAX);
    return fail("terminal_failed", { command, reason: order });
  }
  const { workspace, cwd } = session.order;
  const path = order.cwd ?? cwd;
  // Both by where they really are: the session's own directory may be named through a link.
  const [at, home] = await Promise.all([
    realPathOf({ workspace, path, own: session.own }, "write"),
    realPathOf({ workspace, path: cwd, own: session.own }, "write"),
  ]);
  if (!at.ok) return at;
  const directory = home.ok && home.value === at.value ? cwd : at.value;
  const command = shownLine(order, directory, cwd);
  if (command.trim() === "") return fail("terminal_failed", { command, reason: NO_COMMAND });
  return ok({ action: "terminal", command, cwd: at.value });
}

const NO_COMMAND = "there is no command";
const NOTHING = "it was not said what to write";

const FILE_METHODS: ReadonlySet<string> = new Set([
  CLIENT_METHODS.readTextFile,
  CLIENT_METHODS.writeTextFile,
]);

/** The answer to what nobody will see to. */
export function refusal(error: RpcError): Serving {
  return { answer: Promise.resolve({ error }), capacity: undefined };
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

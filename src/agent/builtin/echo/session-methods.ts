import { isAbsolute } from "node:path";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { AGENT_METHODS, CLIENT_METHODS } from "../../../wire/acp.ts";
import { type EchoAnswer, type MethodHandler, refusal } from "./client-link.ts";
import type { FlagName } from "./flags.ts";
import type { EchoSession, EchoSessionOptions, EchoSessions, PastTurn } from "./session.ts";
import {
  configOptionsOf,
  isMode,
  isModel,
  isOption,
  MODEL_OPTION,
  MODEL_SELECTIONS,
  settingsOf,
} from "./settings.ts";
import type { EchoDeps } from "./turn.ts";

/** Serves the methods that make, restore, list, close and set up sessions. */
export class SessionMethods {
  readonly #deps: EchoDeps;
  readonly #sessions: EchoSessions;

  constructor(deps: EchoDeps, sessions: EchoSessions) {
    this.#deps = deps;
    this.#sessions = sessions;
  }

  /** Its methods, without those that a flag switches off. */
  methods(): ReadonlyMap<string, MethodHandler> {
    const { flags } = this.#deps;
    const methods = new Map<string, MethodHandler>([
      [AGENT_METHODS.newSession, (params) => this.#create(params)],
    ]);
    const offer = (without: FlagName, name: string, serve: MethodHandler) => {
      if (!flags.has(without)) methods.set(name, serve);
    };
    offer("--no-load", AGENT_METHODS.loadSession, (params) => this.#load(params));
    offer("--no-resume", AGENT_METHODS.resumeSession, (params) => this.#resume(params));
    offer("--no-fork", AGENT_METHODS.forkSession, (params) => this.#fork(params));
    offer("--no-list", AGENT_METHODS.listSessions, (params) => this.#list(params));
    offer("--no-close", AGENT_METHODS.closeSession, this.#ofOpen(this.#close));
    offer("--no-modes", AGENT_METHODS.setMode, this.#ofOpen(this.#setMode));
    offer("--no-config", AGENT_METHODS.setConfigOption, this.#ofOpen(this.#setOption));
    if (flags.has("--with-legacy-model")) {
      methods.set(AGENT_METHODS.setModel, this.#ofOpen(this.#setModel));
    }
    return methods;
  }

  #create(params: JsonObject): EchoAnswer {
    const options = this.#options(params);
    return typeof options === "string"
      ? refusal("invalidParams", options)
      : this.#made(options, null);
  }

  #fork(params: JsonObject): EchoAnswer {
    const options = this.#options(params);
    if (typeof options === "string") return refusal("invalidParams", options);
    const id = stringAt(params, "sessionId") ?? "";
    return this.#sessions.isKnown(id) ? this.#made(options, id) : noSession(id);
  }

  #made(options: EchoSessionOptions, copyOf: string | null): EchoAnswer {
    if (this.#sessions.isFull) return FULL;
    const session = this.#sessions.create(options, copyOf);
    return session === null
      ? FULL
      : { result: { sessionId: session.id, ...this.#settings(session) } };
  }

  async #load(params: JsonObject): Promise<EchoAnswer> {
    const session = this.#restored(params);
    if ("error" in session || "result" in session) return session;
    if (this.#deps.flags.has("--late-replay")) await this.#replayLate(session.id, session.past);
    else await this.#replay(session.id, session.past);
    return { result: this.#settings(session) };
  }

  #resume(params: JsonObject): EchoAnswer {
    const session = this.#restored(params);
    if ("error" in session || "result" in session) return session;
    return { result: this.#settings(session) };
  }

  #restored(params: JsonObject): EchoSession | EchoAnswer {
    const options = this.#options(params);
    if (typeof options === "string") return refusal("invalidParams", options);
    if (this.#deps.flags.has("--die-on-load")) process.exit(1);
    const id = stringAt(params, "sessionId") ?? "";
    const open = this.#sessions.find(id);
    if (open === null && this.#sessions.isFull) return FULL;
    if (open?.turn != null) return refusal("invalidRequest", `${id} is at work`);
    return this.#sessions.restore(id, options) ?? noSession(id);
  }

  /** Sends one turn, and the others after the answer. */
  async #replayLate(sessionId: string, [first, ...rest]: readonly PastTurn[]) {
    await this.#replay(sessionId, first === undefined ? [] : [first]);
    setImmediate(() => void this.#replay(sessionId, rest));
  }

  async #replay(sessionId: string, past: readonly PastTurn[]) {
    const tell = (sessionUpdate: string, text: string) => {
      const update = { sessionUpdate, content: { type: "text", text } };
      return this.#deps.link.notify(CLIENT_METHODS.update, { sessionId, update });
    };
    for (const { user, agent } of past) {
      await tell("user_message_chunk", user);
      if (agent !== "") await tell("agent_message_chunk", agent);
    }
  }

  #list(params: JsonObject): EchoAnswer {
    const page = this.#sessions.page(stringAt(params, "cwd"), stringAt(params, "cursor"));
    return page === null ? refusal("invalidParams", "no such cursor") : { result: page };
  }

  /** Serves a request about a session, which has to be open. */
  #ofOpen(
    serve: (session: EchoSession, params: JsonObject) => EchoAnswer | Promise<EchoAnswer>,
  ): MethodHandler {
    return (params) => {
      const id = stringAt(params, "sessionId") ?? "";
      const session = this.#sessions.find(id);
      return session === null ? noSession(id) : serve(session, params);
    };
  }

  readonly #close = async (session: EchoSession): Promise<EchoAnswer> => {
    if (this.#deps.flags.has("--fail-close")) return refusal("internal", "it does not close");
    const { turn } = session;
    // Even a turn that ignores a cancel ends when its session does.
    turn?.cancel();
    await turn?.ended;
    this.#sessions.close(session.id);
    return { result: {} };
  };

  readonly #setMode = (session: EchoSession, params: JsonObject): EchoAnswer => {
    const modeId = stringAt(params, "modeId");
    if (modeId === null || !isMode(modeId)) return refusal("invalidParams", "no such mode");
    session.record({ kind: "mode", modeId });
    return { result: {} };
  };

  readonly #setModel = (session: EchoSession, params: JsonObject): EchoAnswer => {
    const value = stringAt(params, "modelId");
    if (value === null || !isModel(value)) return refusal("invalidParams", "no such model");
    session.record({ kind: "config", id: MODEL_OPTION, value });
    return { result: {} };
  };

  readonly #setOption = (session: EchoSession, { configId, value }: JsonObject): EchoAnswer => {
    const { flags } = this.#deps;
    if (!isOption(flags, configId, value)) {
      return refusal("invalidParams", "echo has no such option, or the option no such value");
    }
    if (configId === flags.text("--refuse-option")) {
      return refusal("invalidRequest", `echo does not change its ${configId}`);
    }
    session.record({ kind: "config", id: configId, value: String(value) });
    if (configId === MODEL_OPTION && flags.has("--reset-with-model")) resetOptions(session);
    return { result: { configOptions: configOptionsOf(session, this.#deps) } };
  };

  #settings(session: EchoSession): JsonObject {
    return settingsOf(session, this.#deps);
  }

  /** The options in these parameters, or a sentence that says what is wrong with them. */
  #options(params: JsonObject): EchoSessionOptions | string {
    const cwd = stringAt(params, "cwd");
    if (cwd === null || !isAbsolute(cwd)) return "cwd must be an absolute path";
    const { mcpServers = [] } = params;
    if (!Array.isArray(mcpServers)) return "mcpServers must be a list";
    const options = { cwd, mcpServers: mcpServers.filter(isObject) };
    const prompt = objectAt(params, "systemPrompt");
    if (prompt === null) return { ...options, systemPrompt: null };
    if (this.#deps.flags.has("--no-system-prompt")) return "echo takes no system prompt";
    if (prompt.mode !== "append") return "echo takes a system prompt only to append it";
    const blocks: readonly unknown[] = Array.isArray(prompt.content) ? prompt.content : [];
    const texts = blocks.map((block) => (isObject(block) ? stringAt(block, "text") : null) ?? "");
    return { ...options, systemPrompt: texts.join("\n") };
  }
}

function resetOptions(session: EchoSession) {
  for (const { id, first } of MODEL_SELECTIONS) {
    session.record({ kind: "config", id, value: first });
  }
}

const FULL = refusal("invalidRequest", "echo has as many sessions as it can");

export function noSession(id: string): EchoAnswer {
  return refusal("resourceNotFound", `echo has no session ${JSON.stringify(id)}`);
}

import { isAbsolute } from "node:path";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import { AGENT_METHODS, CLIENT_METHODS } from "../../../wire/acp.ts";
import { type Answer, refusal, type Serve } from "./answer.ts";
import type { FlagName } from "./flags.ts";
import type { PastTurn, Session, Surroundings } from "./session.ts";
import type { SessionBook } from "./session-book.ts";
import {
  configOptionsOf,
  isMode,
  isModel,
  isOption,
  MODEL_OPTION,
  MODEL_SELECTIONS,
  settingsOf,
} from "./settings.ts";
import type { Stage } from "./turn.ts";

/** Serves what makes, restores, lists, closes and sets up sessions. */
export class SessionDesk {
  readonly #stage: Stage;
  readonly #book: SessionBook;

  constructor(stage: Stage, book: SessionBook) {
    this.#stage = stage;
    this.#book = book;
  }

  /** Its methods, as far as the flags allow them. */
  methods(): ReadonlyMap<string, Serve> {
    const { flags } = this.#stage;
    const methods = new Map<string, Serve>([
      [AGENT_METHODS.newSession, (params) => this.#create(params)],
    ]);
    const offer = (without: FlagName, name: string, serve: Serve) => {
      if (!flags.has(without)) methods.set(name, serve);
    };
    offer("--no-load", AGENT_METHODS.loadSession, (params) => this.#load(params));
    offer("--no-resume", AGENT_METHODS.resumeSession, (params) => this.#resume(params));
    offer("--no-fork", AGENT_METHODS.forkSession, (params) => this.#fork(params));
    offer("--no-list", AGENT_METHODS.listSessions, (params) => this.#list(params));
    offer("--no-close", AGENT_METHODS.closeSession, this.#ofLiving(this.#close));
    offer("--no-modes", AGENT_METHODS.setMode, this.#ofLiving(this.#setMode));
    offer("--no-config", AGENT_METHODS.setConfigOption, this.#ofLiving(this.#setOption));
    if (flags.has("--with-legacy-model")) {
      methods.set(AGENT_METHODS.setModel, this.#ofLiving(this.#setModel));
    }
    return methods;
  }

  #create(params: JsonObject): Answer {
    const around = this.#surroundings(params);
    return typeof around === "string" ? refusal("invalidParams", around) : this.#made(around, null);
  }

  #fork(params: JsonObject): Answer {
    const around = this.#surroundings(params);
    if (typeof around === "string") return refusal("invalidParams", around);
    const id = stringAt(params, "sessionId") ?? "";
    return this.#book.isKnown(id) ? this.#made(around, id) : noSession(id);
  }

  #made(around: Surroundings, copyOf: string | null): Answer {
    if (this.#book.isFull) return FULL;
    const session = this.#book.create(around, copyOf);
    return session === null
      ? FULL
      : { result: { sessionId: session.id, ...this.#settings(session) } };
  }

  async #load(params: JsonObject): Promise<Answer> {
    const session = this.#restored(params);
    if ("error" in session || "result" in session) return session;
    if (this.#stage.flags.has("--late-replay")) await this.#replayLate(session.id, session.past);
    else await this.#replay(session.id, session.past);
    return { result: this.#settings(session) };
  }

  #resume(params: JsonObject): Answer {
    const session = this.#restored(params);
    if ("error" in session || "result" in session) return session;
    return { result: this.#settings(session) };
  }

  #restored(params: JsonObject): Session | Answer {
    const around = this.#surroundings(params);
    if (typeof around === "string") return refusal("invalidParams", around);
    if (this.#stage.flags.has("--die-on-load")) process.exit(1);
    const id = stringAt(params, "sessionId") ?? "";
    const living = this.#book.find(id);
    if (living === null && this.#book.isFull) return FULL;
    if (living?.turn != null) return refusal("invalidRequest", `${id} is at work`);
    return this.#book.restore(id, around) ?? noSession(id);
  }

  /** One turn, and the others behind the answer. */
  async #replayLate(sessionId: string, [first, ...rest]: readonly PastTurn[]) {
    await this.#replay(sessionId, first === undefined ? [] : [first]);
    setImmediate(() => void this.#replay(sessionId, rest));
  }

  async #replay(sessionId: string, past: readonly PastTurn[]) {
    const tell = (sessionUpdate: string, text: string) => {
      const update = { sessionUpdate, content: { type: "text", text } };
      return this.#stage.link.notify(CLIENT_METHODS.update, { sessionId, update });
    };
    for (const { user, agent } of past) {
      await tell("user_message_chunk", user);
      if (agent !== "") await tell("agent_message_chunk", agent);
    }
  }

  #list(params: JsonObject): Answer {
    const page = this.#book.page(stringAt(params, "cwd"), stringAt(params, "cursor"));
    return page === null ? refusal("invalidParams", "no such cursor") : { result: page };
  }

  /** Serves a request about a session, which has to be alive. */
  #ofLiving(serve: (session: Session, params: JsonObject) => Answer | Promise<Answer>): Serve {
    return (params) => {
      const id = stringAt(params, "sessionId") ?? "";
      const session = this.#book.find(id);
      return session === null ? noSession(id) : serve(session, params);
    };
  }

  readonly #close = async (session: Session): Promise<Answer> => {
    const { turn } = session;
    // Even a turn that ignores a cancel ends when its session does.
    turn?.cancel();
    await turn?.ended;
    this.#book.close(session.id);
    return { result: {} };
  };

  readonly #setMode = (session: Session, params: JsonObject): Answer => {
    const modeId = stringAt(params, "modeId");
    if (modeId === null || !isMode(modeId)) return refusal("invalidParams", "no such mode");
    session.record({ kind: "mode", modeId });
    return { result: {} };
  };

  readonly #setModel = (session: Session, params: JsonObject): Answer => {
    const value = stringAt(params, "modelId");
    if (value === null || !isModel(value)) return refusal("invalidParams", "no such model");
    session.record({ kind: "config", id: MODEL_OPTION, value });
    return { result: {} };
  };

  readonly #setOption = (session: Session, { configId, value }: JsonObject): Answer => {
    const { flags, link } = this.#stage;
    if (!isOption(flags, configId, value)) {
      return refusal("invalidParams", "echo has no such option, or the option no such value");
    }
    if (configId === flags.text("--refuse-option")) {
      return refusal("invalidRequest", `echo does not change its ${configId}`);
    }
    session.record({ kind: "config", id: configId, value: String(value) });
    if (configId === MODEL_OPTION && flags.has("--reset-with-model")) resetOptions(session);
    return { result: { configOptions: configOptionsOf(session, flags, link.abilities) } };
  };

  #settings(session: Session): JsonObject {
    return settingsOf(session, this.#stage.flags, this.#stage.link.abilities);
  }

  /** What a session is to be started with, or a sentence that says what is wrong with it. */
  #surroundings(params: JsonObject): Surroundings | string {
    const cwd = stringAt(params, "cwd");
    if (cwd === null || !isAbsolute(cwd)) return "cwd must be an absolute path";
    const { mcpServers = [] } = params;
    if (!Array.isArray(mcpServers)) return "mcpServers must be a list";
    const around = { cwd, mcpServers: mcpServers.filter(isObject) };
    const prompt = objectAt(params, "systemPrompt");
    if (prompt === null) return { ...around, systemPrompt: null };
    if (this.#stage.flags.has("--no-system-prompt")) return "echo takes no system prompt";
    if (prompt.mode !== "append") return "echo takes a system prompt only to append it";
    const blocks: readonly unknown[] = Array.isArray(prompt.content) ? prompt.content : [];
    const texts = blocks.map((block) => (isObject(block) ? stringAt(block, "text") : null) ?? "");
    return { ...around, systemPrompt: texts.join("\n") };
  }
}

function resetOptions(session: Session) {
  for (const { id, first } of MODEL_SELECTIONS) {
    session.record({ kind: "config", id, value: first });
  }
}

const FULL = refusal("invalidRequest", "echo has as many sessions as it can");

export function noSession(id: string): Answer {
  return refusal("resourceNotFound", `echo has no session ${JSON.stringify(id)}`);
}

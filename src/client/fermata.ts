import { type JsonObject, stringAt } from "../core/json.ts";
import type { SessionState } from "../core/status.ts";
import type { NewSessionFields } from "../wire/new-session.ts";
import type { SearchHit } from "../wire/search-hit.ts";
import type { ListedAsk, LiveSummary, SessionSummary } from "../wire/session-summary.ts";
import { AskHandle, choicesOf } from "./ask-handle.ts";
import { SessionHandle } from "./session-handle.ts";
import { type WatchedChange, watchSessions } from "./tenant-watch.ts";
import { type CallSettings, type FermataOptions, freshId, Transport } from "./transport.ts";

/** What a new session is made with; all of it may be left out. */
export type NewSessionOptions = CallSettings &
  Partial<Omit<NewSessionFields, "name">> & {
    /** By which it can be opened: 2 to 64 of a-z, 0-9 and hyphens. */
    readonly name?: string;
    /** By which the server knows a repeat. */
    readonly key?: string;
  };

/** Which sessions to list; all conditions have to hold. */
export interface SessionQuery extends CallSettings {
  readonly status?: SessionState | readonly SessionState[];
  /** A path, or the id of a workspace. */
  readonly workspace?: string;
  readonly closed?: boolean;
  readonly user?: string;
  readonly name?: string;
  /** The agent that it is set to. */
  readonly agent?: string;
  /** In the display name. */
  readonly text?: string;
  /** Of one page; all pages are read in any case. */
  readonly size?: number;
}

/** A session in a list; what only a live one has may be missing. */
export type ListedSummary = SessionSummary & Partial<LiveSummary>;

/** An agent that sessions can be given. */
export interface AgentEntry {
  readonly name: string;
  readonly title: string;
  readonly installed: boolean;
  /** How to install it, where that is known. */
  readonly install?: string;
  readonly default: boolean;
}

/** A directory in which sessions can work. */
export interface ListedWorkspace {
  readonly id: string;
  readonly cwd: string;
  readonly primary: boolean;
  readonly trusted: boolean;
}

type QueryField = readonly [name: string, value: string];

/** A Fermata server, as one of its clients. It holds no connection until something is asked. */
export class Fermata {
  readonly #transport: Transport;
  readonly agents: { list(options?: CallSettings): Promise<readonly AgentEntry[]> };
  readonly asks: { list(options?: CallSettings): AsyncGenerator<AskHandle> };
  readonly workspaces: {
    list(options?: CallSettings): Promise<readonly ListedWorkspace[]>;
    /** For owners and admins; the path is one of the server's machine. */
    add(cwd: string, options?: CallSettings): Promise<ListedWorkspace>;
  };
  readonly sessions: {
    /** Makes a session of its own; it answers when its agent is there. */
    create(options?: NewSessionOptions): Promise<SessionHandle>;
    /** A session that there is, by its id or its name. Nothing is started for it. */
    open(idOrName: string, options?: CallSettings): Promise<SessionHandle>;
    /** The session with that id, whether there is one or not: nothing is asked. */
    at(id: string): SessionHandle;
    /** The last used first. */
    list(query?: SessionQuery): AsyncGenerator<ListedSummary>;
  };

  constructor(options: FermataOptions = {}) {
    this.#transport = new Transport(options);
    this.agents = { list: (call) => this.#agents(call) };
    this.asks = { list: (call) => this.#asks(call) };
    this.workspaces = {
      list: (call) => this.#workspaces(call),
      add: (cwd, call) => this.#transport.call("POST", "/workspaces", { ...call, body: { cwd } }),
    };
    this.sessions = {
      create: (wanted) => this.#create(wanted),
      open: (idOrName, call) => this.#open(idOrName, call),
      at: (id) => new SessionHandle(this.#transport, id),
      list: (query) => this.#list(query),
    };
  }

  /**
   * What was said in all sessions, and their titles, by the words in it: the newest first, page by
   * page as it is read. All words have to be there; nothing in them is an operator.
   */
  search(words: string, query: SessionQuery = {}): AsyncGenerator<SearchHit> {
    return this.#listed("/search", "hits", query, [["q", words]]);
  }

  /** What the server is and offers; `fermataVersion` is its version. */
  capabilities(options?: CallSettings): Promise<JsonObject> {
    return this.#transport.call("GET", "/capabilities", options);
  }

  /** All sessions that the caller sees, and then each that changes, until the signal ends it. */
  watch({
    signal = new AbortController().signal,
  }: CallSettings = {}): AsyncIterable<WatchedChange> {
    return watchSessions(this.#transport, signal);
  }

  async #agents(options?: CallSettings): Promise<readonly AgentEntry[]> {
    const path = "/agents";
    const { agents } = await this.#transport.call<{ agents: AgentEntry[] }>("GET", path, options);
    return agents;
  }

  async #workspaces(options?: CallSettings): Promise<readonly ListedWorkspace[]> {
    const answer = await this.#transport.call<{ workspaces: ListedWorkspace[] }>(
      "GET",
      "/workspaces",
      options,
    );
    return answer.workspaces;
  }

  async #create({ signal, key = freshId(), ...body }: NewSessionOptions = {}) {
    const call = { key, named: true, ...(signal && { signal }) };
    const whole = { sessionScope: "thread", ...body };
    const made = await this.#transport.call("POST", "/session", { ...call, body: whole });
    return new SessionHandle(this.#transport, String(made.sessionId));
  }

  /** The id is kept: the name may be another session's tomorrow. */
  async #open(idOrName: string, options?: CallSettings): Promise<SessionHandle> {
    const path = `/session/${encodeURIComponent(idOrName)}`;
    const { sessionId } = await this.#transport.call("GET", path, options);
    return new SessionHandle(this.#transport, String(sessionId));
  }

  #list(query: SessionQuery = {}): AsyncGenerator<ListedSummary> {
    return this.#listed("/sessions", "sessions", query);
  }

  #listed<Row>(
    path: string,
    field: string,
    { signal, ...query }: SessionQuery,
    more: readonly QueryField[] = [],
  ): AsyncGenerator<Row> {
    const conditions = Object.entries(query).map(([name, value]) => [name, `${value}`] as const);
    return this.#pages(path, field, [...conditions, ...more], signal);
  }

  async *#asks({ signal }: CallSettings = {}): AsyncGenerator<AskHandle> {
    for await (const ask of this.#pages<ListedAsk>("/asks", "asks", [["size", "100"]], signal)) {
      const { sessionId, requestId, kind, options } = ask;
      const details: JsonObject = ask.kind === "permission" ? ask.action : { ...ask };
      const title = stringAt(details, "title") ?? "";
      const choices = choicesOf(options.map((option) => ({ ...option })));
      const facts = { sessionId, requestId, kind, title, options: choices, details };
      yield new AskHandle(this.#transport, facts);
    }
  }

  /** Reads a list page by page, only as far as it is wanted. */
  async *#pages<Row>(
    path: string,
    field: string,
    conditions: readonly QueryField[],
    signal?: AbortSignal,
  ): AsyncGenerator<Row> {
    const query = new URLSearchParams(Object.fromEntries(conditions));
    for (;;) {
      const call = signal ? { signal } : {};
      const page = await this.#transport.call<Readonly<Record<string, readonly Row[]>>>(
        "GET",
        `${path}?${query}`,
        call,
      );
      yield* page[field] ?? [];
      const { nextCursor }: JsonObject = page;
      if (typeof nextCursor !== "string") return;
      query.set("cursor", nextCursor);
    }
  }
}

import { setTimeout as delay } from "node:timers/promises";
import { Breaker } from "../../agent/pool/retry.ts";
import { within } from "../../agent/process/process.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  ERROR_MESSAGE_CHARS_MAX,
  MCP_CALL_MS_MAX,
  MCP_CALLS_OPEN_MAX,
  MCP_CONNECT_MS_MAX,
  MCP_IDLE_MS,
  MCP_LIST_MS_MAX,
  MCP_PATIENCE_MS_MAX,
} from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import type { CallResult, McpTool } from "./tools.ts";

/** An open connection to one MCP server. Its methods throw an `McpFault`. */
export interface McpConnection {
  tools(): Promise<readonly McpTool[]>;
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult>;
  /** Resolves when no process of a server that it started is left. */
  close(): Promise<void>;
}

/** Receives what a server does unasked. */
export interface McpListener {
  /** The server offers other tools than before. */
  changed(): void;
  /** The server closed the connection. */
  lost(reason: string): void;
}

export interface McpTimeouts {
  readonly connectMs: number;
  /** How long a list of all tools waits for one server. */
  readonly patienceMs: number;
  readonly listMs: number;
  readonly callMs: number;
  readonly idleMs: number;
}

export const DEFAULT_MCP_TIMEOUTS: McpTimeouts = {
  connectMs: MCP_CONNECT_MS_MAX,
  patienceMs: MCP_PATIENCE_MS_MAX,
  listMs: MCP_LIST_MS_MAX,
  callMs: MCP_CALL_MS_MAX,
  idleMs: MCP_IDLE_MS,
};

/** Why there is no answer: the server refused, was too slow, or is gone. */
export class McpFault extends Error {
  readonly kind: "refused" | "late" | "lost";

  constructor(kind: McpFault["kind"], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

export interface McpLinkOptions {
  readonly name: string;
  readonly timeouts: McpTimeouts;
  /** Opens one connection, or throws. */
  connect(listener: McpListener, signal: AbortSignal): Promise<McpConnection>;
  /** Removes the secrets that the server was given, and control characters. */
  readable(text: string): string;
  /** Called once for each new reason why the server cannot be used. */
  onProblem(reason: string): void;
}

/**
 * One configured server, shared by all sessions. It connects on first use, reconnects some time
 * after a failure, and disconnects when it is idle.
 */
export class McpLink {
  readonly #options: McpLinkOptions;
  readonly #stop = new AbortController();
  #connection: McpConnection | null = null;
  #connecting: Promise<McpConnection> | null = null;
  #listing: Promise<readonly McpTool[]> | null = null;
  /** Of the present connection; what an earlier one reports is ignored. */
  #listener: McpListener | null = null;
  #tools: readonly McpTool[] | null = null;
  /** Whether the tools have to be listed again. */
  #isStale = true;
  #breaker = new Breaker();
  #problem: string | null = null;
  /** Whether the last attempt to connect failed; then a list does not wait for the next one. */
  #isUnreachable = false;
  #uses = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #endings = new Set<Promise<void>>();

  constructor(options: McpLinkOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Why its tools are absent; null if they are not. */
  get problem(): string | null {
    return this.#problem;
  }

  /** The tools, with a bounded wait: a server that is late or gone offers none. */
  async offered(): Promise<readonly McpTool[]> {
    const { patienceMs } = this.#options.timeouts;
    const asked = this.tools().catch(() => []);
    if (!this.#isUnreachable && (await within(asked, patienceMs))) return asked;
    if (!this.#isUnreachable) this.#note(`it did not list its tools within ${patienceMs} ms`);
    return this.#tools ?? [];
  }

  /** Throws if the server cannot be reached or does not answer. */
  async tools(): Promise<readonly McpTool[]> {
    if (this.#tools !== null && !this.#isStale) return this.#tools;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  /** Throws an `McpFault` if there is no answer, and at once if the signal is aborted. */
  async call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult> {
    const { promise: cancelled, reject } = Promise.withResolvers<never>();
    const cancel = () => reject(new McpFault("refused", "it was cancelled"));
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    const called = this.#use((connection) =>
      connection.call(tool, input, signal).catch((thrown: unknown) => {
        // A cancelled call says nothing about the connection.
        throw signal.aborted ? new McpFault("refused", "it was cancelled") : thrown;
      }),
    );
    try {
      return await Promise.race([called, cancelled]);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Resolves when no process of the server is left. It does not connect again. */
  async close(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#idle);
    await this.#connecting?.catch(() => undefined);
    this.#drop();
    await Promise.all(this.#endings);
  }

  async #list(): Promise<readonly McpTool[]> {
    try {
      this.#tools = await this.#use((connection) => {
        // If they change during the listing, the next call lists them again.
        this.#isStale = false;
        return connection.tools();
      });
      return this.#tools;
    } catch (thrown) {
      this.#isStale = true;
      this.#tools = null;
      this.#note(messageOf(thrown));
      throw thrown;
    }
  }

  /** Uses the connection, which does not become idle meanwhile. */
  async #use<Value>(run: (connection: McpConnection) => Promise<Value>): Promise<Value> {
    if (this.#uses >= MCP_CALLS_OPEN_MAX) {
      throw new McpFault("refused", `${MCP_CALLS_OPEN_MAX} calls to it are open already`);
    }
    this.#uses += 1;
    clearTimeout(this.#idle);
    try {
      const connection = await this.#connected();
      const value = await run(connection).catch((thrown: unknown) => {
        this.#dropIfBroken(connection, thrown);
        throw thrown;
      });
      this.#problem = null;
      this.#breaker = new Breaker();
      return value;
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#disconnectWhenIdle();
    }
  }

  /**
   * Drops a connection that broke, or on which the only open call timed out. The next call connects
   * again.
   */
  #dropIfBroken(connection: McpConnection, thrown: unknown) {
    const kind = thrown instanceof McpFault ? thrown.kind : "lost";
    const isBroken = kind === "lost" || (kind === "late" && this.#uses === 1);
    if (isBroken && this.#connection === connection) this.#drop();
  }

  #connected(): Promise<McpConnection> {
    if (this.#connection !== null) return Promise.resolve(this.#connection);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<McpConnection> {
    const { signal } = this.#stop;
    const advice = this.#breaker.advice(performance.now());
    if (advice.kind === "refuse") throw new McpFault("lost", advice.reason);
    if (advice.kind === "wait") await delay(advice.waitMs, undefined, { signal });
    const startedMs = performance.now();
    const listener = this.#newListener();
    try {
      signal.throwIfAborted();
      const connection = await this.#options.connect(listener, signal);
      this.#listener = listener;
      this.#connection = connection;
      this.#isStale = true;
      this.#isUnreachable = false;
      return connection;
    } catch (thrown) {
      this.#isUnreachable = true;
      this.#failed(messageOf(thrown), startedMs);
      throw thrown;
    }
  }

  #newListener(): McpListener {
    const listener: McpListener = {
      changed: () => {
        if (this.#listener === listener) this.#isStale = true;
      },
      lost: (reason) => {
        if (this.#listener !== listener) return;
        this.#drop();
        this.#failed(reason, performance.now());
      },
    };
    return listener;
  }

  #failed(reason: string, startedMs: number) {
    this.#tools = null;
    this.#note(reason);
    this.#breaker.failed(this.#problem ?? reason, startedMs, performance.now());
  }

  #note(reason: string) {
    const message = cutText(this.#options.readable(reason), ERROR_MESSAGE_CHARS_MAX);
    if (message === this.#problem || this.#stop.signal.aborted) return;
    this.#problem = message;
    this.#options.onProblem(message);
  }

  /** The timer does not keep the process alive. */
  #disconnectWhenIdle() {
    if (this.#stop.signal.aborted) return;
    this.#idle = setTimeout(() => this.#drop(), this.#options.timeouts.idleMs).unref();
  }

  #drop() {
    const connection = this.#connection;
    this.#connection = null;
    this.#listener = null;
    if (connection === null) return;
    const ending: Promise<void> = connection.close().finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

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

/** What a link is made of. */
export interface LinkSetting {
  readonly name: string;
  readonly times: McpTimes;
  /** Makes one connection, or throws why not. */
  connect(ears: McpEars, signal: AbortSignal): Promise<McpConnection>;
  /** Without the secrets that the server was given, and without what would move a cursor. */
  readable(text: string): string;
  /** Told once of each new reason why the server cannot be used. */
  trouble(reason: string): void;
}

/**
 * One configured server, as all sessions share it. It is connected when it is first used, again
 * after a failure when some time has passed, and let go when nobody uses it for a while.
 */
export class McpLink {
  readonly #setting: LinkSetting;
  readonly #stop = new AbortController();
  #connection: McpConnection | null = null;
  #connecting: Promise<McpConnection> | null = null;
  #listing: Promise<readonly McpTool[]> | null = null;
  /** Of the connection that counts; what an earlier one still says is nobody's business. */
  #ears: McpEars | null = null;
  #tools: readonly McpTool[] | null = null;
  /** The tools have to be asked for again. */
  #isStale = true;
  #breaker = new Breaker();
  #problem: string | null = null;
  /** The last try to connect failed, so that nobody should wait for the next one. */
  #isUnreachable = false;
  #uses = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #endings = new Set<Promise<void>>();

  constructor(setting: LinkSetting) {
    this.#setting = setting;
  }

  get name(): string {
    return this.#setting.name;
  }

  /** Why its tools are absent, if they are. */
  get problem(): string | null {
    return this.#problem;
  }

  /** What can be had without much waiting: a server that is late or gone offers nothing. */
  async offered(): Promise<readonly McpTool[]> {
    const { patienceMs } = this.#setting.times;
    const asked = this.tools().catch(() => []);
    if (!this.#isUnreachable && (await within(asked, patienceMs))) return asked;
    if (!this.#isUnreachable) this.#note(`it did not say within ${patienceMs} ms what it offers`);
    return this.#tools ?? [];
  }

  /** Throws if the server cannot be reached or does not say. */
  async tools(): Promise<readonly McpTool[]> {
    if (this.#tools !== null && !this.#isStale) return this.#tools;
    this.#listing ??= this.#list().finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  /** Throws an `McpFault` if there is no answer. Whoever gives up does not wait for one. */
  async call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult> {
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const giveUp = () => reject(new McpFault("refused", "it was called off"));
    signal.addEventListener("abort", giveUp);
    if (signal.aborted) giveUp();
    const called = this.#use((connection) =>
      connection.call(tool, input, signal).catch((thrown: unknown) => {
        // That nobody wants the answer is no fault of the connection.
        throw signal.aborted ? new McpFault("refused", "it was called off") : thrown;
      }),
    );
    try {
      return await Promise.race([called, givenUp]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** Nothing of it is left when this answers, and nothing is connected any more. */
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
        // If they change while they are being told, the next one to ask is told anew.
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

  /** Does something over the connection, which is not let go meanwhile. */
  async #use<Value>(run: (connection: McpConnection) => Promise<Value>): Promise<Value> {
    if (this.#uses >= MCP_CALLS_OPEN_MAX) {
      throw new McpFault("refused", `${MCP_CALLS_OPEN_MAX} calls to it are open already`);
    }
    this.#uses += 1;
    clearTimeout(this.#idle);
    try {
      const connection = await this.#connected();
      const value = await run(connection).catch((thrown: unknown) => {
        this.#doubt(connection, thrown);
        throw thrown;
      });
      this.#problem = null;
      this.#breaker = new Breaker();
      return value;
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#rest();
    }
  }

  /**
   * A connection that broke is of no use, nor is one on which the only call was never answered:
   * what hangs there is ended, and the next call connects anew.
   */
  #doubt(connection: McpConnection, thrown: unknown) {
    const kind = thrown instanceof McpFault ? thrown.kind : "lost";
    const isUseless = kind === "lost" || (kind === "late" && this.#uses === 1);
    if (isUseless && this.#connection === connection) this.#drop();
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
    const begunMs = performance.now();
    const ears = this.#newEars();
    try {
      signal.throwIfAborted();
      const connection = await this.#setting.connect(ears, signal);
      this.#ears = ears;
      this.#connection = connection;
      this.#isStale = true;
      this.#isUnreachable = false;
      return connection;
    } catch (thrown) {
      this.#isUnreachable = true;
      this.#failed(messageOf(thrown), begunMs);
      throw thrown;
    }
  }

  #newEars(): McpEars {
    const ears: McpEars = {
      changed: () => {
        if (this.#ears === ears) this.#isStale = true;
      },
      lost: (why) => {
        if (this.#ears !== ears) return;
        this.#drop();
        this.#failed(why, performance.now());
      },
    };
    return ears;
  }

  #failed(reason: string, begunMs: number) {
    this.#tools = null;
    this.#note(reason);
    this.#breaker.failed(this.#problem ?? reason, begunMs, performance.now());
  }

  #note(reason: string) {
    const said = cutText(this.#setting.readable(reason), ERROR_MESSAGE_CHARS_MAX);
    if (said === this.#problem || this.#stop.signal.aborted) return;
    this.#problem = said;
    this.#setting.trouble(said);
  }

  /** Not a reason for the process to stay alive. */
  #rest() {
    if (this.#stop.signal.aborted) return;
    this.#idle = setTimeout(() => this.#drop(), this.#setting.times.idleMs).unref();
  }

  #drop() {
    const connection = this.#connection;
    this.#connection = null;
    this.#ears = null;
    if (connection === null) return;
    const ending: Promise<void> = connection.close().finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** An open connection to one server. What goes wrong is thrown as an `McpFault`. */
export interface McpConnection {
  tools(): Promise<readonly McpTool[]>;
  call(tool: string, input: JsonObject, signal: AbortSignal): Promise<CallResult>;
  /** When it answers, nothing of a server that we started is left. */
  close(): Promise<void>;
}

/** Whoever has to know what a server does of its own accord. */
export interface McpEars {
  /** It offers other tools than before. */
  changed(): void;
  /** It is gone, and nobody here closed it. */
  lost(why: string): void;
}

/** How long things may take. */
export interface McpTimes {
  readonly connectMs: number;
  readonly patienceMs: number;
  readonly listMs: number;
  readonly callMs: number;
  readonly idleMs: number;
}

export const USUAL_TIMES: McpTimes = {
  connectMs: MCP_CONNECT_MS_MAX,
  patienceMs: MCP_PATIENCE_MS_MAX,
  listMs: MCP_LIST_MS_MAX,
  callMs: MCP_CALL_MS_MAX,
  idleMs: MCP_IDLE_MS,
};

/** Why there is no answer: the server refused, was too slow, or cannot be heard any more. */
export class McpFault extends Error {
  readonly kind: "refused" | "late" | "lost";

  constructor(kind: McpFault["kind"], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

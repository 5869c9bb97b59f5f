import { CLIENT_INFO } from "../../agent/bridge/start.ts";
import { type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import {
  TOOLBOX_PROGRESS_CHARS_MAX,
  TOOLBOX_PROGRESS_MS,
  TOOLBOX_SETTLE_MS_MAX,
} from "../../core/limits.ts";
import { cutText } from "../../core/text.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import {
  errorLine,
  isRpcId,
  notificationLine,
  OVERLONG,
  RPC_ERRORS,
  type RpcId,
  type RpcMessage,
  readRpc,
  requestLine,
  resultLine,
} from "../../wire/rpc.ts";
import { faultOf } from "../mcp/tools.ts";
import { failed, type ToolAnswer } from "../tool.ts";
import type { OfferedTool } from "../toolbox.ts";

/** The versions of MCP that are spoken, newest first; these methods are the same in all. */
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** What a conversation needs of the toolbox that it is about. */
export interface ConversationDeps {
  readonly tools: readonly OfferedTool[];
  readonly clock: Clock;
  /** Makes ids of calls that no other conversation of this toolbox has. */
  readonly prefix: string;
  /** Admits one more call, and answers how it is given back; null if there are too many. */
  admitCall(): (() => void) | null;
  send(line: string): void;
}

type RpcRequest = Extract<RpcMessage, { readonly kind: "request" }>;

/** One agent's conversation in MCP: what it asks for, and the one answer that each request gets. */
export class McpConversation {
  readonly #deps: ConversationDeps;
  readonly #calls = new Map<RpcId, AbortController>();
  /** What waits for the agent's answers to our pings, by their ids. */
  readonly #pings = new Map<RpcId, () => void>();
  #pinged = 0;
  #hasBegun = false;
  /** A ping was not answered in time: this agent answers none. */
  #isMute = false;
  #isOver = false;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
  }

  receive(line: string | typeof OVERLONG) {
    if (this.#isOver) return;
    if (line === OVERLONG) return this.#fail(null, "parse", "the message is too long");
    const message = readRpc(line);
    if (message.kind === "malformed") return this.#fail(null, "parse", message.why);
    if (message.kind === "request") return this.#answer(message);
    if (message.kind === "result" || message.kind === "error") return this.#ponged(message.id);
    if (message.kind !== "notification" || message.method !== "notifications/cancelled") return;
    const { requestId } = message.params;
    if (!isRpcId(requestId)) return;
    this.#calls.get(requestId)?.abort();
    this.#calls.delete(requestId);
  }

  /**
   * Resolves when all that the agent has sent so far has come in. It sends one thing after the
   * other, so what comes behind its answer to a ping was sent after that.
   */
  settled(): Promise<void> {
    if (this.#isOver || this.#isMute || !this.#hasBegun) return Promise.resolve();
    this.#pinged += 1;
    const id = `fermata-${this.#pinged}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    const callOff = this.#deps.clock.after(TOOLBOX_SETTLE_MS_MAX, () => {
      this.#isMute = true;
      this.#ponged(id);
    });
    this.#pings.set(id, () => {
      callOff();
      resolve();
    });
    this.#send(requestLine(id, "ping", {}));
    return promise;
  }

  #ponged(id: RpcId | null) {
    if (id === null) return;
    this.#pings.get(id)?.();
    this.#pings.delete(id);
  }

  /** Nothing is answered any more. */
  end() {
    this.#isOver = true;
    for (const id of [...this.#pings.keys()]) this.#ponged(id);
    for (const call of this.#calls.values()) call.abort();
    this.#calls.clear();
  }

  #answer(request: RpcRequest) {
    const { id, method, params } = request;
    if (method === "tools/call") return this.#call(request);
    if (method === "ping") return this.#send(resultLine(id, {}));
    if (method === "tools/list") return this.#send(resultLine(id, { tools: this.#listed() }));
    if (method !== "initialize") return this.#fail(id, "methodNotFound", `there is no ${method}`);
    this.#hasBegun = true;
    const asked = stringAt(params, "protocolVersion");
    const protocolVersion = VERSIONS.find((version) => version === asked) ?? VERSIONS[0];
    this.#send(resultLine(id, { protocolVersion, capabilities: { tools: {} }, serverInfo }));
  }

  #listed(): readonly JsonObject[] {
    return this.#deps.tools.map(({ name, description, inputSchema, isReadOnly }) => {
      const annotations = { readOnlyHint: isReadOnly, openWorldHint: false };
      return { name, description, inputSchema, annotations };
    });
  }

  #call({ id, params }: RpcRequest) {
    // The id that is open already gets its one answer; another would be taken for that.
    if (this.#calls.has(id)) return;
    const name = stringAt(params, "name");
    const tool = this.#deps.tools.find((one) => one.name === name);
    if (tool === undefined) return this.#fail(id, "invalidParams", `there is no tool "${name}"`);
    const input = objectAt(params, "arguments") ?? {};
    const fault = faultOf(input, tool.inputSchema);
    if (fault !== null) return this.#settle(id, failed(fault));
    const giveBack = this.#deps.admitCall();
    if (giveBack === null) return this.#settle(id, failed(TOO_MANY));
    const call = new AbortController();
    this.#calls.set(id, call);
    void this.#run(tool, input, { id, params, call }).finally(giveBack);
  }

  async #run(
    tool: OfferedTool,
    input: JsonObject,
    { id, params, call }: { id: RpcId; params: JsonObject; call: AbortController },
  ): Promise<void> {
    const meta = objectAt(params, "_meta") ?? {};
    const { signal } = call;
    const progress = new CallProgress(this.#deps, meta.progressToken, signal);
    const use = {
      callId: `${this.#deps.prefix}${id}`,
      ...{ meta, signal },
      progress: (message: string) => progress.tell(message),
    };
    const answer = await tool.call(input, use).catch((thrown: unknown) => {
      return failed(`The tool failed: ${String(thrown)}`);
    });
    progress.end();
    // It was withdrawn, or the session is over.
    if (signal.aborted) return;
    this.#calls.delete(id);
    this.#settle(id, answer);
  }

  #settle(id: RpcId, { isError, text }: ToolAnswer) {
    this.#send(resultLine(id, { content: [{ type: "text", text }], isError }));
  }

  #fail(id: RpcId | null, kind: keyof typeof RPC_ERRORS, message: string) {
    this.#send(errorLine(id, { code: RPC_ERRORS[kind], message }));
  }

  #send(line: string) {
    if (!this.#isOver) this.#deps.send(line);
  }
}

const { name, title, version } = CLIENT_INFO;
const serverInfo = { name, title, version };

const TOO_MANY = "Too many calls are open. Wait until some of them have ended, and try again.";

/** Tells an agent again and again that its call goes on, where the agent wants to hear of it. */
class CallProgress {
  readonly #deps: ConversationDeps;
  readonly #token: unknown;
  readonly #signal: AbortSignal;
  #count = 0;
  #message = "at work";
  #callOff: CallOff | null = null;

  constructor(deps: ConversationDeps, token: unknown, signal: AbortSignal) {
    this.#deps = deps;
    this.#token = token;
    this.#signal = signal;
    if (!isRpcId(token)) return;
    signal.addEventListener("abort", () => this.end());
    this.#wait();
  }

  tell(message: string) {
    this.#message = cutText(message, TOOLBOX_PROGRESS_CHARS_MAX);
    if (this.#callOff !== null) this.#send();
  }

  end() {
    this.#callOff?.();
    this.#callOff = null;
  }

  #wait() {
    this.#callOff = this.#deps.clock.after(TOOLBOX_PROGRESS_MS, () => {
      this.#wait();
      this.#send();
    });
  }

  #send() {
    if (this.#signal.aborted) return;
    this.#count += 1;
    const about = { progressToken: this.#token, progress: this.#count, message: this.#message };
    this.#deps.send(notificationLine("notifications/progress", about));
  }
}

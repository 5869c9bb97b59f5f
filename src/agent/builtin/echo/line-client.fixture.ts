import type { Readable, Writable } from "node:stream";
import { isObject, type JsonObject, objectAt, stringAt } from "../../../core/json.ts";
import * as rpc from "../../../wire/rpc.ts";
import { LineSplitter, OVERLONG } from "../../../wire/rpc.ts";
import { paramsFaults, resultFaults } from "./acp-schema.fixture.ts";

const LINE_BYTES_MAX = 64 * 1_024 * 1_024;

/** What the client can do, unless a test says otherwise: everything. */
const ALL_CAPABILITIES: JsonObject = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  elicitation: { form: {} },
  session: { configOptions: { boolean: {} } },
};

export type Reply = { readonly result: JsonObject } | { readonly error: rpc.RpcError };

/** How a test serves echo's requests; a promise that stays open leaves the request open. */
export type Serve = (params: JsonObject) => unknown;

/** What one prompt came to. */
export interface TurnSeen {
  readonly reply: Reply;
  /** The text of all message chunks, joined. */
  readonly text: string;
  readonly updates: readonly JsonObject[];
}

/** A client that only reads and writes lines, and judges each of them by the official schema. */
export class LineClient {
  readonly #input: Writable;
  readonly #calls = new Map<rpc.RpcId, { method: string; settle: (reply: Reply) => void }>();
  readonly #watchers = new Set<() => void>();
  #lastId = 100;
  /** By method; a request for which there is none is refused. */
  readonly serves = new Map<string, Serve>();
  /** Everything that came and is no answer to a call, in order. */
  readonly heard: rpc.RpcMessage[] = [];
  /** How much had been heard when the last call of a method was answered. */
  readonly answeredAfter = new Map<string, number>();
  /** Lines that are no messages. */
  readonly noise: (string | typeof OVERLONG)[] = [];
  /** What a test makes echo do wrong on purpose is taken out again with `forgive`. */
  faults: string[] = [];

  constructor(pipes: { readonly input: Writable; readonly output: Readable }) {
    this.#input = pipes.input;
    this.#input.on("error", () => {});
    const lines = new LineSplitter(LINE_BYTES_MAX);
    pipes.output.on("data", (chunk: Buffer) => {
      for (const line of lines.feed(chunk)) this.#hear(line);
      for (const look of this.#watchers) look();
    });
  }

  initialize(clientCapabilities = ALL_CAPABILITIES): Promise<JsonObject> {
    return this.result("initialize", { protocolVersion: 1, clientCapabilities });
  }

  async newSession(params: JsonObject = {}): Promise<string> {
    const made = await this.result("session/new", { cwd: "/tmp", mcpServers: [], ...params });
    return stringAt(made, "sessionId") ?? "";
  }

  send(text: string) {
    this.#input.write(text);
  }

  notify(method: string, params: JsonObject) {
    this.send(rpc.notificationLine(method, params));
  }

  call(method: string, params: JsonObject): Promise<Reply> {
    this.#lastId += 1;
    return this.callAs(this.#lastId, method, params);
  }

  callAs(id: rpc.RpcId, method: string, params: JsonObject): Promise<Reply> {
    return new Promise((settle) => {
      this.#calls.set(id, { method, settle });
      this.send(rpc.requestLine(id, method, params));
    });
  }

  async result(method: string, params: JsonObject): Promise<JsonObject> {
    const reply = await this.call(method, params);
    if ("error" in reply) throw new Error(`${method}: ${JSON.stringify(reply.error)}`);
    return reply.result;
  }

  async errorCode(method: string, params: JsonObject): Promise<number | null> {
    const reply = await this.call(method, params);
    return "error" in reply ? reply.error.code : null;
  }

  /** One turn, by the lines of its script. */
  prompt(...lines: readonly string[]): Promise<TurnSeen> {
    return this.promptIn("sess-1", lines.join("\n"));
  }

  async promptIn(sessionId: string, text: string): Promise<TurnSeen> {
    const from = this.heard.length;
    const prompt = [{ type: "text", text }];
    const reply = await this.call("session/prompt", { sessionId, prompt });
    const updates = this.updates(sessionId).slice(this.#updatesBefore(from, sessionId));
    return { reply, text: spoken(updates), updates };
  }

  updates(sessionId = "sess-1"): readonly JsonObject[] {
    return updatesIn(this.heard, sessionId);
  }

  #updatesBefore(index: number, sessionId: string): number {
    return updatesIn(this.heard.slice(0, index), sessionId).length;
  }

  requests(method: string): readonly JsonObject[] {
    return this.heard.flatMap((one) => {
      return one.kind === "request" && one.method === method ? [one.params] : [];
    });
  }

  /** Waits for something to be heard, as long as the test may take. */
  async until(isSo: () => boolean): Promise<void> {
    if (isSo()) return;
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  /** The faults so far, which are then no longer held against echo. */
  forgive(): readonly string[] {
    const { faults } = this;
    this.faults = [];
    return faults;
  }

  endInput() {
    this.#input.end();
  }

  /** Answers every open call, so that no test waits for an echo that is gone. */
  protected giveUp(message: string) {
    for (const { settle } of this.#calls.values()) settle({ error: { code: 0, message } });
    this.#calls.clear();
  }

  #hear(line: string | typeof OVERLONG) {
    const message = line === OVERLONG ? null : rpc.readRpc(line);
    if (message === null || message.kind === "malformed") {
      this.noise.push(line);
      return;
    }
    if (typeof line === "string" && !line.startsWith('{"jsonrpc":"2.0",')) {
      this.faults.push(`no JSON-RPC 2.0: ${line}`);
    }
    if (message.kind === "result" || message.kind === "error") this.#answered(message);
    else this.#told(message);
  }

  #answered(message: Extract<rpc.RpcMessage, { kind: "result" | "error" }>) {
    const call = message.id === null ? undefined : this.#calls.get(message.id);
    if (message.id !== null) this.#calls.delete(message.id);
    if (call === undefined) {
      this.heard.push(message);
      return;
    }
    this.answeredAfter.set(call.method, this.heard.length);
    if (message.kind === "error") return call.settle({ error: message.error });
    const result = isObject(message.result) ? message.result : {};
    this.faults.push(...resultFaults(call.method, message.result));
    call.settle({ result });
  }

  #told(message: Extract<rpc.RpcMessage, { kind: "request" | "notification" }>) {
    this.heard.push(message);
    this.faults.push(...paramsFaults(message.method, message.params));
    if (message.kind === "notification") return;
    const serve = this.serves.get(message.method);
    if (serve === undefined) {
      const error = { code: rpc.RPC_ERRORS.methodNotFound, message: "not served" };
      this.send(rpc.errorLine(message.id, error));
      return;
    }
    void Promise.resolve(serve(message.params)).then((result) => {
      this.send(rpc.resultLine(message.id, result));
    });
  }
}

function updatesIn(heard: readonly rpc.RpcMessage[], sessionId: string): readonly JsonObject[] {
  return heard.flatMap((one) => {
    if (one.kind !== "notification" || one.method !== "session/update") return [];
    const update = one.params.sessionId === sessionId ? objectAt(one.params, "update") : null;
    return update === null ? [] : [update];
  });
}

function spoken(updates: readonly JsonObject[]): string {
  return updates
    .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
    .map(({ content }) => (isObject(content) ? stringAt(content, "text") : null) ?? "")
    .join("");
}

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { isObject, type JsonObject } from "../../../core/json.ts";
import {
  LineSplitter,
  notificationLine,
  type RpcId,
  readRpc,
  requestLine,
  resultLine,
} from "../../../wire/rpc.ts";
import { MCP_LINE_BYTES_MAX, MCP_SAID_CHARS_MAX } from "./limits.ts";
import type { EchoSession } from "./session.ts";

const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "echo", version: "1.0.0" },
};

/** The MCP server of this name, which runs from its first use to the end of the session. */
export async function mcpServerOf(
  session: EchoSession,
  name: string,
): Promise<EchoMcpServer | string> {
  const options = session.options.mcpServers.find((one) => one.name === name);
  if (options === undefined) return `there is no server ${name}`;
  const known = running.get(options);
  if (known?.isRunning) return known;
  const server = new EchoMcpServer(options);
  running.set(options, server);
  session.whenClosed(() => server.end());
  const fault = await server.greet();
  return fault ?? server;
}

const running = new WeakMap<JsonObject, EchoMcpServer>();

/** An MCP server that a session was given, as a process of echo's. */
export class EchoMcpServer {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #open = new Map<RpcId, (answer: string | JsonObject) => void>();
  #lastId = 0;
  /** The end of its error output. */
  #said = "";

  constructor({ command, args, env }: JsonObject) {
    const words = Array.isArray(args) ? args.map(String) : [];
    const variables = (Array.isArray(env) ? env : []).filter(isObject);
    const own = variables.map(({ name, value }) => [String(name), String(value)]);
    this.#process = spawn(String(command), words, {
      env: { ...process.env, ...Object.fromEntries(own) },
    });
    const lines = new LineSplitter(MCP_LINE_BYTES_MAX);
    this.#process.stdout.on("data", (chunk: Buffer) => {
      for (const line of lines.feed(chunk)) if (typeof line === "string") this.#hear(line);
    });
    this.#process.stdin.on("error", () => {});
    this.#process.on("error", (thrown) => this.#lose(String(thrown)));
    this.#process.on("close", () => this.#lose("it has ended"));
    this.#process.stderr.on("data", (chunk: Buffer) => {
      this.#said = `${this.#said}${chunk}`.slice(-MCP_SAID_CHARS_MAX);
    });
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** The result, or a sentence that says why there is none. It is withdrawn when that resolves. */
  request(
    method: string,
    params: JsonObject,
    withdrawn: Promise<unknown> | null = null,
  ): Promise<JsonObject | string> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<JsonObject | string>();
    this.#open.set(id, resolve);
    if (this.isRunning) this.#process.stdin.write(requestLine(id, method, params));
    else this.#lose("it has ended");
    void withdrawn?.then(() => {
      if (!this.#open.delete(id)) return;
      const cancelled = notificationLine("notifications/cancelled", { requestId: id });
      this.#process.stdin.write(cancelled);
      resolve("cancelled");
    });
    return promise;
  }

  async greet(): Promise<string | null> {
    const hello = await this.request("initialize", HELLO);
    if (typeof hello === "string") return hello;
    this.#process.stdin.write(notificationLine("notifications/initialized", {}));
    return null;
  }

  end() {
    this.#process.kill();
  }

  #hear(line: string) {
    const message = readRpc(line);
    if (message.kind === "request" && message.method === "ping") {
      this.#process.stdin.write(resultLine(message.id, {}));
    }
    if (message.kind !== "result" && message.kind !== "error") return;
    const { id } = message;
    const settle = id === null ? undefined : this.#open.get(id);
    if (id === null || settle === undefined) return;
    this.#open.delete(id);
    if (message.kind === "error") settle(`failed with ${message.error.message}`);
    else settle(isObject(message.result) ? message.result : {});
  }

  #lose(why: string) {
    const said = this.#said.trim();
    const words = said === "" ? why : `${why}, and said: ${said}`;
    for (const settle of this.#open.values()) settle(words);
    this.#open.clear();
  }
}

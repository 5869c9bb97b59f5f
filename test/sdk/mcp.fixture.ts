import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { isObject, type JsonObject } from "../../src/core/json.ts";

const BIN = fileURLToPath(new URL("../../node_modules/.bin/qwen-serve-mcp", import.meta.url));

/** The SDK's own program, as an MCP host starts it: JSON-RPC in lines on its input and output. */
export class McpBridge {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (answer: JsonObject) => void>();
  #asked = 0;

  private constructor(daemonUrl: string) {
    const env = { PATH: process.env.PATH, QWEN_DAEMON_URL: daemonUrl };
    const stdio = ["pipe", "pipe", "inherit"] as const;
    this.#child = spawn(process.execPath, [BIN], { env, stdio: [...stdio] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#heard(line));
  }

  static async start(daemonUrl: string): Promise<McpBridge> {
    const bridge = new McpBridge(daemonUrl);
    onTestFinished(() => bridge.#end());
    const clientInfo = { name: "fermata-test", version: "1" };
    const wish = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    await bridge.ask("initialize", wish);
    bridge.#send({ method: "notifications/initialized" });
    return bridge;
  }

  async ask(method: string, params: object = {}): Promise<JsonObject> {
    this.#asked += 1;
    const id = this.#asked;
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    this.#waiting.set(id, resolve);
    this.#send({ id, method, params });
    const { result, error } = await promise;
    if (!isObject(result)) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** What a tool answers, read as the JSON that the bridge writes; and whether it is an error. */
  async call(name: string, args: object = {}): Promise<JsonObject> {
    const { content, isError } = await this.ask("tools/call", { name, arguments: args });
    const [said] = Array.isArray(content) ? content : [];
    return { isError: isError ?? false, ...JSON.parse(said.text) };
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #heard(line: string): void {
    const answer: JsonObject = JSON.parse(line);
    if (typeof answer.id === "number") this.#waiting.get(answer.id)?.(answer);
  }

  /** It leaves when its host does. */
  async #end(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.stdin.end();
    await gone;
  }
}

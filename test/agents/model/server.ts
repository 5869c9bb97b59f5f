// A model on this machine, in four dialects. It does what prompts tell it, and keeps what it was
// sent, so that what an agent remembers can be seen from the model's side.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { isObject, type JsonObject } from "../../../src/core/json.ts";
import { ANTHROPIC } from "./anthropic.ts";
import { CHAT } from "./chat.ts";
import { GEMINI } from "./gemini.ts";
import { isBeside, obey } from "./obey.ts";
import { type Answer, type ModelRequest, tokensOf } from "./request.ts";
import { RESPONSES } from "./responses.ts";
import type { WholeAnswer, Wire } from "./wire.ts";

const WIRES: readonly (readonly [RegExp, Wire])[] = [
  [/\/chat\/completions$/, CHAT],
  [/\/responses$/, RESPONSES],
  [/\/messages$/, ANTHROPIC],
  [/:(?:streamG|g)enerateContent$/, GEMINI],
];

const MODELS = ["mock-model", "mock-model-2"];
const BODY_BYTES_MAX = 64 * 1_024 * 1_024;
/** An agent in a loop must not fill the memory. */
const REQUESTS_MAX = 2_000;

export class ModelServer {
  readonly key: string;
  readonly requests: ModelRequest[] = [];
  /** Paths that were asked for and are none of the model's. */
  readonly unknown: string[] = [];
  readonly #server: Server;
  #calls = 0;
  /** What was told to agents as used by turns, without titles, summaries and memories. */
  #spent: Spent = { calls: 0, tokens: 0 };

  private constructor(key: string) {
    this.key = key;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(key: string): Promise<ModelServer> {
    const model = new ModelServer(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    model.#server.listen(0, "127.0.0.1", resolve);
    await promise;
    return model;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return `http://127.0.0.1:${address.port}`;
  }

  get spent(): Spent {
    return this.#spent;
  }

  async end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://model");
    const [, wire] = WIRES.find(([pattern]) => pattern.test(pathname)) ?? [];
    const body = await bodyOf(request);
    if (!this.#knows(request, searchParams)) return refuse(response);
    if (wire === undefined) return this.#small(pathname, response);
    const read = wire.read(body, pathname);
    if (this.requests.length < REQUESTS_MAX) this.requests.push(read);
    await this.#say(wire, read, obey(read), response);
  }

  #knows({ headers }: IncomingMessage, search: URLSearchParams): boolean {
    const bearer = headers.authorization?.replace(/^Bearer /i, "");
    const keys = [bearer, headers["x-api-key"], headers["x-goog-api-key"], search.get("key")];
    return keys.includes(this.key);
  }

  /** Lists of models, counts of tokens, and what else agents look for. */
  #small(path: string, response: ServerResponse): void {
    const data = MODELS.map((id) => ({ id, object: "model", type: "model", display_name: id }));
    const [, known] =
      [
        ["/models", { object: "list", data }] as const,
        ["/count_tokens", { input_tokens: 1_000 }] as const,
        [":countTokens", { totalTokens: 1_000 }] as const,
      ].find(([end]) => path.endsWith(end)) ?? [];
    if (known === undefined) this.unknown.push(path);
    const missing = { error: { message: "not found", type: "not_found_error" } };
    json(response, known === undefined ? 404 : 200, known ?? missing);
  }

  #count(read: ModelRequest): void {
    if (isBeside(read)) return;
    const { input, output } = tokensOf(read);
    const { calls, tokens } = this.#spent;
    this.#spent = { calls: calls + 1, tokens: tokens + input + output };
  }

  async #say(wire: Wire, read: ModelRequest, answer: Answer, response: ServerResponse) {
    this.#calls += 1;
    const id = `call_${this.#calls}`;
    const call = answer.kind === "call" ? { tool: answer.tool, id, input: answer.input } : null;
    const chunks = answer.kind === "say" ? answer.chunks : [];
    const whole: WholeAnswer = { text: chunks.join(""), call };
    this.#count(read);
    if (!read.isStream) return json(response, 200, wire.whole(read, whole));
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    response.write(wire.begin(read));
    if (chunks.length > 0) response.write(wire.openText(read));
    for (const chunk of chunks) {
      response.write(wire.text(read, chunk));
      if (answer.kind === "say" && answer.pauseMs > 0) await pause(answer.pauseMs);
      // An agent that was killed or cancelled reads no more.
      if (response.destroyed) return;
    }
    if (call !== null) response.write(wire.call(read, call.tool, id, call.input));
    response.end(wire.end(read, whole));
  }
}

interface Spent {
  readonly calls: number;
  readonly tokens: number;
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > BODY_BYTES_MAX) throw new Error("the request is too large");
    parts.push(part);
  }
  try {
    const read: unknown = JSON.parse(Buffer.concat(parts).toString("utf8"));
    return isObject(read) ? read : {};
  } catch {
    return {};
  }
}

function refuse(response: ServerResponse): void {
  const error = { type: "authentication_error", code: 401, message: "invalid x-api-key" };
  json(response, 401, { type: "error", error: { ...error, status: "UNAUTHENTICATED" } });
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

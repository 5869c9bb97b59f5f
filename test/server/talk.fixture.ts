import { expect } from "vitest";
import type { JsonObject } from "../../src/core/json.ts";
import type { ServeProcess } from "./serve.fixture.ts";

/** A session of a server, its log as it is now, and a way to wait for more of it. */
export class Talk {
  readonly #server: ServeProcess;
  readonly #id: string;

  constructor(server: ServeProcess, id: string) {
    this.#server = server;
    this.#id = id;
  }

  /** With what else it is created with. */
  static async begun(server: ServeProcess, creation: object = {}): Promise<Talk> {
    const body = { sessionScope: "thread", ...creation };
    const made = await asked(server, "POST", "/session", body);
    return new Talk(server, String(made.sessionId));
  }

  call(method: string, rest: string, body?: object): Promise<JsonObject> {
    return asked(this.#server, method, `/session/${this.#id}${rest}`, body);
  }

  /** Sends a prompt, and reads on until this stands in what it led to. */
  async prompt(words: string, ...script: readonly string[]): Promise<string> {
    const text = script.join("\n");
    const sent = await this.call("POST", "/prompt", { prompt: [{ type: "text", text }] });
    return this.until(words, Number(sent.lastEventId));
  }

  /** All that the log says after this event, or a stream of it, up to where these words stand. */
  async until(words: string, after: number, stream = "/events"): Promise<string> {
    const leave = new AbortController();
    const response = await this.#read(stream, after, leave.signal);
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes(words)) break;
    }
    leave.abort();
    expect(text).toContain(words);
    return text;
  }

  /** All that a stream says that ends by itself. */
  async whole(stream: string): Promise<string> {
    const response = await this.#read(stream, 0, AbortSignal.timeout(60_000));
    return response.text();
  }

  #read(stream: string, after: number, signal: AbortSignal): Promise<Response> {
    const headers = { "last-event-id": `${after}` };
    return fetch(`${this.#server.url}/session/${this.#id}${stream}`, { headers, signal });
  }

  /** Has the agent ask, and answers with this option, to the turn's end. */
  async answered(optionId: string, ...script: readonly string[]): Promise<string> {
    const said = await this.prompt('"to":"waiting"', ...script);
    const after = Number(/"lastEventId":(\d+)/.exec(said)?.[1] ?? 0);
    await this.vote(said, optionId);
    return this.until("turn_complete", after);
  }

  async vote(said: string, optionId: string): Promise<void> {
    const [, requestId = ""] = /"requestId":"([^"]+)"/.exec(said) ?? [];
    const body = { outcome: { outcome: "selected", optionId } };
    expect(await this.call("POST", `/permission/${requestId}`, body)).toEqual({});
  }

  approvals(): Promise<JsonObject> {
    return this.call("GET", "/approvals");
  }
}

export async function asked(
  server: ServeProcess,
  method: string,
  path: string,
  body?: object,
): Promise<JsonObject> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return text === "" ? {} : JSON.parse(text);
}

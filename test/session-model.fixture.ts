import { expect } from "vitest";
import { isObject, type JsonObject, objectAt, stringAt } from "../src/core/json.ts";
import type { ServeProcess } from "./server/serve.fixture.ts";

/** What became of one line that was said in a session. */
export interface Said {
  /** The events from its admission to its verdict. */
  readonly events: readonly JsonObject[];
  readonly verdict: JsonObject;
  /** The answer of a command; empty for a turn. */
  readonly result: JsonObject;
  /** All that was said in return, in one piece. */
  readonly text: string;
  /** What the agent was told beside the prompt, word for word as the log has it. */
  readonly sent: string;
}

/** Somebody who speaks to one session over plain HTTP, and reads its stream. */
export class SessionCaller {
  readonly #server: ServeProcess;
  readonly sessionId: string;
  readonly clientId: string;

  private constructor(server: ServeProcess, sessionId: string, clientId: string) {
    this.#server = server;
    this.sessionId = sessionId;
    this.clientId = clientId;
  }

  static async create(server: ServeProcess, body: JsonObject = {}): Promise<SessionCaller> {
    const wanted = { sessionScope: "thread", ...body };
    const made = await asked(server, "POST", "/session", wanted);
    expect(made.status).toBe(200);
    const { sessionId, clientId } = made.body;
    return new SessionCaller(server, String(sessionId), String(clientId));
  }

  /** Sends a line and waits for its verdict. */
  async say(text: string): Promise<Said> {
    return this.heard(await this.send(text));
  }

  /** Sends a line; answers with where its events begin. */
  async send(text: string): Promise<JsonObject> {
    const sent = await this.ask("POST", "/prompt", { prompt: [{ type: "text", text }] });
    expect(sent.status).toBe(202);
    return sent.body;
  }

  /** Everything up to the verdict of a prompt. */
  async heard(admitted: JsonObject): Promise<Said> {
    const { promptId, lastEventId } = admitted;
    const events: JsonObject[] = [];
    const giveUp = new AbortController();
    for await (const event of this.#stream(String(lastEventId), giveUp)) {
      events.push(event);
      const data = objectAt(event, "data") ?? {};
      const isVerdict = event.type === "turn_complete" || event.type === "turn_error";
      if (isVerdict && data.promptId === promptId) break;
    }
    giveUp.abort();
    return saidIn(events, String(promptId));
  }

  async fields(detail = "full"): Promise<JsonObject> {
    const answer = await this.ask("GET", `/fields?detail=${detail}`);
    expect(answer.status).toBe(200);
    return answer.body;
  }

  ask(method: string, path: string, body?: JsonObject) {
    const route = `/session/${this.sessionId}${path}`;
    return asked(this.#server, method, route, body, { "x-qwen-client-id": this.clientId });
  }

  async *#stream(after: string, giveUp: AbortController): AsyncGenerator<JsonObject> {
    const answer = await fetch(`${this.#server.url}/session/${this.sessionId}/events`, {
      headers: { "last-event-id": after },
      signal: giveUp.signal,
    });
    let rest = "";
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const frames = `${rest}${piece}`.split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const line = frame.split("\n").find((one) => one.startsWith("data: "));
        const event: unknown = line === undefined ? null : JSON.parse(line.slice(6));
        if (isObject(event) && event.id !== undefined) yield event;
      }
    }
  }
}

async function asked(
  { url }: ServeProcess,
  method: string,
  path: string,
  body?: JsonObject,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json: unknown = text === "" ? {} : JSON.parse(text);
  return { status: answer.status, body: isObject(json) ? json : {} };
}

function saidIn(events: readonly JsonObject[], promptId: string): Said {
  const dataOf = (event: JsonObject | undefined) => (event && objectAt(event, "data")) ?? {};
  const ofType = (type: string) => events.filter((event) => event.type === type).map(dataOf);
  const spoken = ofType("session_update").map((data) => {
    const update = objectAt(data, "update") ?? {};
    const isSpoken = update.sessionUpdate === "agent_message_chunk";
    return isSpoken ? (stringAt(objectAt(update, "content") ?? {}, "text") ?? "") : "";
  });
  const told = [...ofType("instructions_sent"), ...ofType("skill_invoked")];
  const results = ofType("command_result").filter((data) => data.promptId === promptId);
  return {
    events,
    verdict: dataOf(events.at(-1)),
    result: results[0] ?? {},
    text: spoken.join(""),
    sent: told.map((data) => stringAt(data, "text") ?? "").join("\n"),
  };
}

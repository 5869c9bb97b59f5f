import { expect, onTestFinished } from "vitest";
import { isObject, type JsonObject, objectAt, stringAt } from "../../src/core/json.ts";
import type { ServeProcess } from "../server/serve.fixture.ts";
import { dataOf, Ear, ofType, verdictOf, type Wanted } from "./ear.fixture.ts";

/** What became of one line that was said in a session. */
export interface Said {
  readonly promptId: string;
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

type Headers = Readonly<Record<string, string>>;

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
}

/** A client of one session over plain HTTP, which reads its stream. */
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
    const made = await asked(server, "POST", "/session", { sessionScope: "thread", ...body });
    expect(made).toMatchObject({ status: 200 });
    const { sessionId, clientId } = made.body;
    return new SessionCaller(server, String(sessionId), String(clientId));
  }

  /** Brings a stored session back. */
  static async load(server: ServeProcess, sessionId: string): Promise<SessionCaller> {
    const loaded = await asked(server, "POST", `/session/${sessionId}/load`, {});
    expect(loaded).toMatchObject({ status: 200 });
    return new SessionCaller(server, sessionId, String(loaded.body.clientId));
  }

  /** Sends a line and waits for its verdict. */
  async say(...script: readonly string[]): Promise<Said> {
    return this.heard(await this.send(...script));
  }

  /** Sends a line; answers with its name and where its events begin. */
  async send(...script: readonly string[]): Promise<JsonObject> {
    const text = script.join("\n");
    const sent = await this.ask("POST", "/prompt", { prompt: [{ type: "text", text }] });
    expect(sent).toMatchObject({ status: 202 });
    return sent.body;
  }

  /** The same for a line that may be sent again: it is known by its key. */
  async sendOnce(key: string, text: string): Promise<JsonObject> {
    const prompt = [{ type: "text", text }];
    const headers = { "idempotency-key": key };
    const sent = await this.ask("POST", "/prompt", { prompt }, headers);
    expect(sent).toMatchObject({ status: 202 });
    return sent.body;
  }

  /** Everything up to the verdict of a prompt. */
  async heard({ promptId, lastEventId }: JsonObject): Promise<Said> {
    const ear = await this.listen(Number(lastEventId));
    const said = await judged(ear, String(promptId));
    ear.close();
    return said;
  }

  /** The first event after this one that is wanted. */
  async first(isWanted: Wanted, after = 0): Promise<JsonObject> {
    const ear = await this.listen(after);
    const found = await ear.first(isWanted);
    ear.close();
    return found;
  }

  /** Hears all that is said in the session, from the beginning unless it is told otherwise. */
  async listen(after = 0): Promise<Ear> {
    const ear = await Ear.open(`${this.#server.url}/session/${this.sessionId}/events`, after);
    onTestFinished(() => ear.close());
    return ear;
  }

  async fields(): Promise<JsonObject> {
    const answer = await this.ask("GET", "/fields?detail=full");
    expect(answer).toMatchObject({ status: 200 });
    return answer.body;
  }

  /** All fields but the two that any command may change: its record, and when it was. */
  async steadyFields(): Promise<JsonObject> {
    const { last_updated_at: _, command_history: __, ...steady } = await this.fields();
    return steady;
  }

  async messages(): Promise<readonly JsonObject[]> {
    const { messages } = objectAt(await this.fields(), "conversation_state") ?? {};
    return Array.isArray(messages) ? messages.filter(isObject) : [];
  }

  /** Answers an ask of the session with one of its options. */
  async vote(asked: JsonObject, optionId: string): Promise<void> {
    const outcome = { outcome: "selected", optionId };
    const path = `/permission/${dataOf(asked).requestId}`;
    expect(await this.ask("POST", path, { outcome })).toMatchObject({ status: 200 });
  }

  ask(method: string, path: string, body?: JsonObject, more: Headers = {}): Promise<Answered> {
    const route = `/session/${this.sessionId}${path}`;
    const headers = { ...more, "x-qwen-client-id": this.clientId };
    return asked(this.#server, method, route, body, headers);
  }
}

/** What was said about this prompt, once it has its verdict. */
export async function judged(ear: Ear, promptId: string): Promise<Said> {
  const verdict = await ear.first(verdictOf(promptId));
  const events = ear.events.slice(0, ear.events.indexOf(verdict) + 1);
  const own = events.filter((event) => event.promptId === promptId);
  const spoken = own.filter(ofType("session_update")).map((event) => {
    const update = objectAt(dataOf(event), "update") ?? {};
    const isSpoken = update.sessionUpdate === "agent_message_chunk";
    return isSpoken ? (stringAt(objectAt(update, "content") ?? {}, "text") ?? "") : "";
  });
  const told = [...events.filter(ofType("instructions_sent")), ...events.filter(isSkill)];
  const results = events.filter(ofType("command_result")).map(dataOf);
  return {
    promptId,
    events,
    verdict: dataOf(verdict),
    result: results.find((data) => data.promptId === promptId) ?? {},
    text: spoken.join(""),
    sent: told.map((event) => stringAt(dataOf(event), "text") ?? "").join("\n"),
  };
}

const isSkill = ofType("skill_invoked");

export async function asked(
  { url }: ServeProcess,
  method: string,
  path: string,
  body?: JsonObject,
  headers: Headers = {},
): Promise<Answered> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json: unknown = text === "" ? {} : JSON.parse(text);
  return { status: answer.status, body: isObject(json) ? json : {} };
}

import { execFile } from "node:child_process";
import { expect } from "vitest";
import { isObject, type JsonObject } from "../src/core/json.ts";
import { ENTRY } from "./server/program.fixture.ts";
import type { ServeProcess } from "./server/serve.fixture.ts";

/** The command, in a process of its own, over the data of a server. */
export function fermata({ data }: ServeProcess, ...args: readonly string[]) {
  const given = [ENTRY, ...args, "--data", data];
  return new Promise<{ code: number; out: string; error: string }>((resolve) => {
    execFile(process.execPath, given, (failed, out, error) => {
      resolve({ code: failed === null ? 0 : Number(failed.code), out: out.trim(), error });
    });
  });
}

export interface Heard {
  readonly id: number | null;
  readonly type: string;
  readonly data: JsonObject;
}

/** What a session's client keeps in order to come back. */
export interface CreatedSession {
  readonly sessionId: string;
  readonly epoch: string;
}

/** A user of a tenant, who calls a server with a token. */
export class Caller {
  readonly tenant: string;
  readonly token: string;
  readonly #server: ServeProcess;

  constructor(server: ServeProcess, tenant: string, token: string) {
    this.#server = server;
    this.tenant = tenant;
    this.token = token;
  }

  static async of(server: ServeProcess, tenant: string): Promise<Caller> {
    const user = ["--tenant", tenant, "--user", `${tenant}-owner`, "--role", "owner"];
    const { out, error } = await fermata(server, "tokens", "create", ...user);
    if (out === "") expect.fail(error);
    return new Caller(server, tenant, out);
  }

  async ask(method: string, path: string, body?: object): Promise<JsonObject> {
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...this.#proof },
      ...(body && { body: JSON.stringify(body) }),
    });
    const said: unknown = JSON.parse(await response.text());
    return response.ok && isObject(said) ? said : expect.fail(`${path}: ${JSON.stringify(said)}`);
  }

  async session(): Promise<CreatedSession> {
    const made = await this.ask("POST", "/session", { sessionScope: "thread" });
    return { sessionId: String(made.sessionId), epoch: String(made.eventEpoch) };
  }

  async prompt(sessionId: string, ...script: readonly string[]): Promise<string> {
    const prompt = [{ type: "text", text: script.join("\n") }];
    return String((await this.ask("POST", `/session/${sessionId}/prompt`, { prompt })).promptId);
  }

  /** Reads a session's stream from an event on, until the caller stops. */
  async *stream(
    sessionId: string,
    from: Partial<CreatedSession> = {},
    after = 0,
  ): AsyncGenerator<Heard> {
    const cursor = { "last-event-id": `${after}` };
    const epoch: Record<string, string> =
      from.epoch === undefined ? {} : { "x-qwen-event-epoch": from.epoch };
    const headers = { ...this.#proof, ...cursor, ...epoch };
    const leaving = new AbortController();
    const at = `${this.#server.url}/session/${sessionId}/events`;
    const response = await fetch(at, { headers, signal: leaving.signal });
    let text = "";
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString("utf8");
        const frames = text.split("\n\n");
        text = frames.pop() ?? "";
        for (const frame of frames) yield* heard(frame);
      }
    } finally {
      leaving.abort();
    }
  }

  get #proof() {
    return { authorization: `Bearer ${this.token}` };
  }
}

function* heard(frame: string): Generator<Heard> {
  const line = frame.split("\n").find((one) => one.startsWith("data: "));
  if (line === undefined) return;
  const { id, type, data } = JSON.parse(line.slice("data: ".length));
  yield { id: id ?? null, type, data };
}

const isVerdict = ({ type }: Heard) => type === "turn_complete" || type === "turn_error";

/** How many verdicts each prompt of these events has. */
export function verdictsOf(events: readonly Heard[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const event of events) {
    const promptId = String(event.data.promptId);
    if (event.type === "prompt_admitted") counts.set(promptId, counts.get(promptId) ?? 0);
    if (isVerdict(event)) counts.set(promptId, (counts.get(promptId) ?? 0) + 1);
  }
  return counts;
}

/** When work is over, and who is told of each turn that ends. */
export interface Watch {
  isOver(): boolean;
  onVerdict(): void;
}

/** Gives a session one prompt after the other, until the server is gone or it is told to stop. */
export async function keepAtWork(
  caller: Caller,
  { sessionId }: CreatedSession,
  script: readonly string[],
  { isOver, onVerdict }: Watch,
): Promise<void> {
  try {
    await caller.prompt(sessionId, ...script);
    for await (const event of caller.stream(sessionId)) {
      if (isOver()) return;
      if (!isVerdict(event)) continue;
      onVerdict();
      await caller.prompt(sessionId, ...script);
    }
  } catch (thrown) {
    if (!isOver()) throw thrown;
  }
}

/** All that a session's log says, once every prompt in it has its verdict. */
export async function settled(caller: Caller, sessionId: string): Promise<readonly Heard[]> {
  const events: Heard[] = [];
  let isReplayed = false;
  for await (const event of caller.stream(sessionId)) {
    if (event.id !== null) events.push(event);
    isReplayed ||= event.type === "replay_complete";
    if (isReplayed && [...verdictsOf(events).values()].every((count) => count > 0)) return events;
  }
  return expect.fail("its stream has ended");
}

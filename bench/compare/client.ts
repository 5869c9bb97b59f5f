import {
  hangUp,
  type ServerAddress,
  type StreamOptions,
  StreamReader,
  send,
} from "../wire-client.ts";

export interface OwnSession {
  readonly sessionId: string;
  readonly clientId: string;
}

/** A client that loads and attaches under one name, so that it is registered once. */
const VISITOR = "client_bench";

/** What the bench asks of a server. It remembers its sessions and streams, to end them. */
export class BenchClient {
  readonly address: ServerAddress;
  readonly #live = new Map<string, OwnSession>();
  readonly #readers = new Set<StreamReader>();

  constructor(address: ServerAddress) {
    this.address = address;
  }

  async create(): Promise<OwnSession> {
    return this.#kept(await this.#post("/session", { sessionScope: "thread" }));
  }

  async attach(): Promise<OwnSession> {
    return this.#kept(await this.#post("/session", {}, VISITOR));
  }

  async close({ sessionId }: OwnSession): Promise<void> {
    await send(this.address, { method: "DELETE", path: `/session/${sessionId}` });
    this.#live.delete(sessionId);
  }

  /** Resolves with how many characters the answer has. */
  async load(session: OwnSession): Promise<number> {
    const text = await this.#post(`/session/${session.sessionId}/load`, {}, VISITOR);
    this.#live.set(session.sessionId, session);
    return text.length;
  }

  async branch({ sessionId }: OwnSession): Promise<OwnSession> {
    return this.#kept(await this.#post(`/session/${sessionId}/branch`, {}));
  }

  /** Sends one of the lines that the agent of the bench knows. */
  async prompt({ sessionId, clientId }: OwnSession, line: string): Promise<void> {
    const prompt = [{ type: "text", text: line }];
    await this.#post(`/session/${sessionId}/prompt`, { prompt }, clientId);
  }

  /** The stream of the client that made the session. */
  async listen(session: OwnSession, counted?: string): Promise<StreamReader> {
    const { port } = this.address;
    const options = { ...this.streamOptions(session), ...(counted !== undefined && { counted }) };
    const reader = await StreamReader.open(port, `/session/${session.sessionId}/events`, options);
    this.#readers.add(reader);
    return reader;
  }

  /** Without a session, as readers that are no clients of it. */
  streamOptions(session: OwnSession | null): StreamOptions {
    const { host, token } = this.address;
    const headers = [
      ...(session === null ? [] : [`X-Qwen-Client-Id: ${session.clientId}`]),
      ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    ];
    return { host, headers };
  }

  /** One turn, until the client that prompted has its verdict. */
  async turn(session: OwnSession, reader: StreamReader, line: string): Promise<void> {
    const received = reader.received("event: turn_complete");
    await Promise.all([received, this.prompt(session, line)]);
  }

  /** Leaves nothing behind on a server that goes on. */
  async closeAll(): Promise<void> {
    for (const session of [...this.#live.values()]) await this.close(session);
  }

  leave(): void {
    for (const reader of this.#readers) reader.leave();
    hangUp();
  }

  async #post(path: string, body: object, clientId: string | null = null): Promise<string> {
    return (await send(this.address, { method: "POST", path, body, clientId })).text;
  }

  #kept(text: string): OwnSession {
    const { sessionId, clientId }: Record<string, unknown> = JSON.parse(text);
    const session = { sessionId: String(sessionId), clientId: String(clientId) };
    this.#live.set(session.sessionId, session);
    return session;
  }
}

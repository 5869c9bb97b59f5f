import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";

const ID = Buffer.from("\nid: ");
const STAMP = Buffer.from("sent@");
const LINE_END = 10;

/** Longer than any marker, so that a marker in two chunks is found. */
const TAIL_BYTES = 64;

interface Waiter {
  isSo(bytes: Buffer, fresh: number): boolean;
  resolve(): void;
  reject(why: Error): void;
}

export interface StreamOptions {
  readonly host?: string;
  readonly headers?: readonly string[];
  readonly until?: string;
  /** What `count` counts. */
  readonly counted?: string;
}

/**
 * The cheapest reader of an event stream: a socket, and a search in what comes. It parses nothing,
 * so that the writer is what is measured.
 */
export class StreamReader {
  /** The last event that has come. */
  lastId = 0;
  isOver = false;
  /** How often the text of `counted` has come. */
  count = 0;
  /** How late the events with a timestamp were. */
  lagsMs: number[] = [];
  readonly #socket: Socket;
  readonly #counted: Buffer | null;
  #isOpen = false;
  #tail: Buffer = Buffer.alloc(0);
  #waiting: Waiter[] = [];

  private constructor(socket: Socket, counted: string | null) {
    this.#socket = socket;
    this.#counted = counted === null ? null : Buffer.from(counted);
    socket.on("data", (chunk) => this.#hear(chunk)).on("error", () => {});
    socket.on("close", () => {
      this.isOver = true;
      for (const { reject } of this.#waiting.splice(0)) reject(new Error("the stream was cut"));
    });
  }

  /** Resolves when this text has come; by default the first line of the stream. */
  static async open(
    port: number,
    path: string,
    { host = LOOPBACK, headers = [], until = "retry: ", counted }: StreamOptions = {},
  ): Promise<StreamReader> {
    const reader = new StreamReader(connect(port, host), counted ?? null);
    const named = host.includes(":") ? `[${host}]` : host;
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${named}:${port}`, ...headers, "", ""];
    reader.#socket.write(lines.join("\r\n"));
    await reader.received(until);
    return reader;
  }

  /** Resolves when this comes; what came before does not count. */
  received(words: string): Promise<void> {
    const marker = Buffer.from(words);
    return this.#until((bytes, fresh) => {
      return bytes.indexOf(marker, Math.max(0, fresh - marker.length + 1)) >= 0;
    });
  }

  async reached(id: number): Promise<void> {
    if (this.lastId < id) await this.#until(() => this.lastId >= id);
  }

  async counts(times: number): Promise<void> {
    if (this.count < times) await this.#until(() => this.count >= times);
  }

  leave() {
    this.#socket.destroy();
  }

  #until(isSo: Waiter["isSo"]): Promise<void> {
    if (this.isOver) return Promise.reject(new Error("the stream was cut"));
    return new Promise((resolve, reject) => this.#waiting.push({ isSo, resolve, reject }));
  }

  #hear(chunk: Buffer) {
    if (!this.#isOpen) {
      const [status] = chunk.toString("latin1").split("\r\n");
      if (status !== "HTTP/1.1 200 OK") this.#socket.destroy(new Error(status));
      this.#isOpen = true;
    }
    const bytes = Buffer.concat([this.#tail, chunk]);
    const fresh = this.#tail.length;
    this.#tail = bytes.subarray(-TAIL_BYTES);
    this.#readId(bytes);
    this.#readStamps(bytes, fresh);
    if (this.#counted !== null) this.#countIn(bytes, fresh, this.#counted);
    const met = this.#waiting.filter(({ isSo }) => isSo(bytes, fresh));
    if (met.length === 0) return;
    this.#waiting = this.#waiting.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }

  #readId(bytes: Buffer) {
    const at = bytes.lastIndexOf(ID);
    const end = at < 0 ? -1 : bytes.indexOf(LINE_END, at + ID.length);
    if (end >= 0) this.lastId = Number(bytes.toString("latin1", at + ID.length, end));
  }

  #countIn(bytes: Buffer, fresh: number, marker: Buffer) {
    const first = Math.max(0, fresh - marker.length + 1);
    for (let at = bytes.indexOf(marker, first); at >= 0; at = bytes.indexOf(marker, at + 1)) {
      this.count += 1;
    }
  }

  #readStamps(bytes: Buffer, fresh: number) {
    for (let at = bytes.indexOf(STAMP); at >= 0; at = bytes.indexOf(STAMP, at + 1)) {
      const end = bytes.indexOf(";", at);
      if (end < 0) return;
      if (end < fresh) continue; // It was whole in the last piece, and has been read there.
      const saidAt = BigInt(bytes.toString("latin1", at + STAMP.length, end));
      this.lagsMs.push(Number(process.hrtime.bigint() - saidAt) / 1e6);
    }
  }
}

/** A timestamp as text; processes of one machine share this clock. */
export function stamp(): string {
  return `sent@${process.hrtime.bigint()};`;
}

/** Where a server listens, and what it takes for a token. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
}

interface WireRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
  readonly clientId?: string | null;
}

interface Answered {
  readonly status: number;
  readonly text: string;
}

/** An answer that says no. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const LOOPBACK = "127.0.0.1";
const connections = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Sends a request over a kept connection. Any status but success ends the trial. */
export async function send(
  { host, port, token }: ServerAddress,
  { method, path, body, clientId = null }: WireRequest,
): Promise<Answered> {
  const headers = {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(clientId !== null && { "x-qwen-client-id": clientId }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const options = { port, host, path, method, headers, agent: connections };
  const asked = request(options, async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    const { statusCode: status = 0 } = response;
    if (status >= 300) reject(new Refused(status, `${method} ${path}: ${status} ${text}`));
    else resolve({ status, text });
  });
  asked.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

/** Posts to a server on this machine that wants no token, and reads its answer. */
export async function post(
  port: number,
  path: string,
  body: object,
  clientId: string | null = null,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const at = { host: LOOPBACK, port, token: null };
  const { status, text } = await send(at, { method: "POST", path, body, clientId });
  return { status, body: text === "" ? {} : JSON.parse(text) };
}

/** Closes the kept connections, so that the process can end. */
export function hangUp() {
  connections.destroy();
}

import { isObject, type JsonObject } from "../core/json.ts";
import { Backoff, pause } from "./backoff.ts";
import { FermataError, isPassing, refusalIn } from "./fault.ts";

/** Where a server is, and how it is spoken to. */
export interface FermataOptions {
  /** `http://127.0.0.1:4170` by default. */
  readonly url?: string | URL;
  readonly token?: string | null;
  /** Names this client in sessions; by default a new name. */
  readonly clientId?: string;
  /** How long a call is sent again while the server is away; 60 s by default. */
  readonly patienceMs?: number;
  readonly fetch?: typeof fetch;
}

/** Every call can be ended by a signal, and then rejects with its reason. */
export interface CallSettings {
  readonly signal?: AbortSignal;
}

export interface WireCall extends CallSettings {
  readonly body?: object;
  /** The server does a call with the same key once, however often it is sent. */
  readonly key?: string;
  /** Sends the client's id: the session has to know it. */
  readonly named?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

type CallMethod = "GET" | "POST" | "PATCH" | "DELETE";

const NEVER = new AbortController().signal;

/** Sends calls to one server, again if need be. */
export class Transport {
  readonly url: string;
  readonly clientId: string;
  readonly #token: string | null;
  readonly #patienceMs: number;
  readonly #fetch: typeof fetch;

  constructor(options: FermataOptions) {
    this.url = String(options.url ?? "http://127.0.0.1:4170").replace(/\/$/, "");
    this.clientId = options.clientId ?? `client_${freshId()}`;
    this.#token = options.token ?? null;
    this.#patienceMs = options.patienceMs ?? 60_000;
    // Browsers refuse a `fetch` that is called as the method of another object.
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /**
   * Sends a call until it is answered. All calls can be sent twice: they read, say what is to be
   * so, or have a key by which the server knows them again.
   */
  async call<Answer = JsonObject>(
    method: CallMethod,
    path: string,
    { body, key, named = false, headers = {}, signal = NEVER }: WireCall = {},
  ): Promise<Answer> {
    const backoff = new Backoff();
    const untilMs = performance.now() + this.#patienceMs;
    const request = {
      method,
      headers: {
        ...headers,
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(key !== undefined && { "Idempotency-Key": key }),
        ...(named && { "X-Qwen-Client-Id": this.clientId }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    };
    for (;;) {
      try {
        return await this.#once<Answer>(path, request, signal);
      } catch (error) {
        if (!isPassing(error)) throw error;
        const ms = backoff.nextMs(error.retryAfterMs);
        if (performance.now() + ms > untilMs) throw error;
        await pause(ms, signal);
      }
    }
  }

  /** One attempt, to read piece by piece: it comes back with its head, or rejects. */
  async open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
    const response = await this.#send(path, { method: "GET", headers }, signal);
    if (response.ok) return response;
    throw refusalIn(response, await this.#bodyOf(response, signal).catch(() => null));
  }

  /** Where the types of an answer begin: what the server says is not looked through again. */
  async #once<Answer>(path: string, request: RequestInit, signal: AbortSignal): Promise<Answer> {
    const response = await this.#send(path, request, signal);
    const body = await this.#bodyOf(response, signal);
    if (!response.ok) throw refusalIn(response, body);
    if (response.status === 204) return {} as Answer;
    if (isObject(body)) return body as Answer;
    const { status } = response;
    const isCut =
      body === null && /^application\/json/.test(response.headers.get("content-type") ?? "");
    if (isCut)
      throw new FermataError("unreachable", "The answer was cut in the middle.", { status });
    throw new FermataError("answer_unreadable", "The answer is no JSON object.", { status });
  }

  async #send(path: string, request: RequestInit, signal: AbortSignal): Promise<Response> {
    const authorization = this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
    try {
      const headers = { ...request.headers, ...authorization };
      return await this.#fetch(`${this.url}${path}`, { ...request, headers, signal });
    } catch (cause) {
      throw this.#away(cause, signal);
    }
  }

  /** Null if it is not JSON; an answer that was cut in the middle counts as none at all. */
  async #bodyOf(response: Response, signal: AbortSignal): Promise<unknown> {
    const text = await response.text().catch((cause) => {
      throw this.#away(cause, signal);
    });
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  #away(cause: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    return new FermataError("unreachable", `No answer from ${this.url}.`, { cause });
  }
}

/** A UUID. `crypto.randomUUID` is missing in pages that came over plain HTTP. */
export function freshId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = [...bytes].map((byte, at) => {
    const fixed = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return fixed.toString(16).padStart(2, "0");
  });
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

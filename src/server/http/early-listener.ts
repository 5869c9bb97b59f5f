import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { refusal } from "../../core/error.ts";
import { STARTING_REQUESTS_MAX, STARTING_WAIT_MS_MAX } from "../../core/limits.ts";
import type { Result } from "../../core/result.ts";
import { type CallOff, type Clock, SYSTEM_CLOCK } from "../../platform/clock.ts";
import type { ServerSettings } from "../settings.ts";
import { type Answer, json, refused, SERVER_NAME } from "./answer.ts";
import { dropBody } from "./body.ts";
import { connectionOf } from "./connection.ts";
import { sendText } from "./delivery.ts";
import { type ListenAddress, Listener } from "./listener.ts";
import { OwnNames } from "./origins.ts";
import { requestIdOf } from "./request-scope.ts";

/** A request that waits until there are routes. */
interface HeldRequest {
  readonly incoming: IncomingMessage;
  readonly callOff: CallOff;
}

/**
 * A listener that can accept before the server behind it is there. Until then it says that the
 * server is starting to those who ask for nothing else, and keeps all other requests as they are:
 * unread, so many, and so long. The server has them first.
 */
export class EarlyListener {
  readonly listener: Listener;
  readonly #settings: ServerSettings;
  readonly #clock: Clock;
  readonly #waiting = new Map<ServerResponse, HeldRequest>();
  #listening: Promise<Result<ListenAddress>> | null = null;
  #names: OwnNames | null = null;
  #handle: RequestListener | null = null;

  constructor(settings: ServerSettings, clock: Clock = SYSTEM_CLOCK) {
    this.#settings = settings;
    this.#clock = clock;
    const accept: RequestListener = (incoming, response) => this.#accept(incoming, response);
    this.listener = new Listener(settings, accept, clock);
  }

  /** Listens, once. */
  listen(): Promise<Result<ListenAddress>> {
    this.#listening ??= this.#listen();
    return this.#listening;
  }

  /** Gives what has waited, and all that comes, to the server. */
  serve(handle: RequestListener) {
    this.#handle = handle;
    for (const [response, { incoming }] of this.#waiting) {
      this.#forget(response);
      handle(incoming, response);
    }
  }

  /** The server did not come up. */
  async close(): Promise<void> {
    this.listener.stopAccepting();
    for (const response of [...this.#waiting.keys()]) this.#refuse(response);
    await this.listener.close();
  }

  async #listen(): Promise<Result<ListenAddress>> {
    const address = await this.listener.listen();
    if (address.ok) {
      const { hostname, allowHosts } = this.#settings;
      // Who has a token is not known yet, so this is stricter than the server may be.
      const { port } = address.value;
      this.#names = new OwnNames({ hostname, port, needsToken: false, allowHosts });
    }
    return address;
  }

  #accept(incoming: IncomingMessage, response: ServerResponse) {
    if (this.#handle !== null) return this.#handle(incoming, response);
    if (this.#mayKnow(incoming)) return answerNow(incoming, response, json(200, STARTING));
    // From now on it is seen when the client ends the connection.
    connectionOf(incoming);
    const callOff = this.#clock.after(STARTING_WAIT_MS_MAX, () => this.#refuse(response));
    this.#waiting.set(response, { incoming, callOff });
    response.once("close", () => this.#forget(response));
    if (this.#waiting.size > STARTING_REQUESTS_MAX) this.#refuse(response);
  }

  /** Whether every program on this machine may know it, which a web page may not. */
  #mayKnow({ method, url, headers, headersDistinct }: IncomingMessage): boolean {
    if (method !== "GET" || url !== "/health" || headers.origin !== undefined) return false;
    const isPublic = this.#names?.isLoopback === true && !this.#settings.requireAuth;
    return isPublic && this.#names?.hostRefusal(headersDistinct.host ?? []) === null;
  }

  #refuse(response: ServerResponse) {
    const waiting = this.#forget(response);
    if (waiting === undefined || response.destroyed) return;
    const answer = refused(refusal("server_starting"), { Connection: "close" });
    dropBody(waiting.incoming, this.#clock);
    answerNow(waiting.incoming, response, answer);
  }

  #forget(response: ServerResponse): HeldRequest | undefined {
    const waiting = this.#waiting.get(response);
    waiting?.callOff();
    this.#waiting.delete(response);
    return waiting;
  }
}

const STARTING = { status: "starting" };

function answerNow(incoming: IncomingMessage, response: ServerResponse, answer: Answer) {
  // A disconnect is not an error.
  incoming.on("error", () => {});
  response.on("error", () => {});
  if (!connectionOf(incoming).begin(response)) return;
  const header = incoming.headers["x-request-id"];
  response.setHeader("X-Request-Id", requestIdOf(header?.toString(), randomUUID));
  response.setHeader("Server", SERVER_NAME);
  if (answer.kind === "json") sendText(response, answer);
}

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TenantId } from "../../core/id.ts";
import { CLOSE_MS_MAX, LOGGED_ERROR_CHARS_MAX } from "../../core/limits.ts";
import type { Log, LogMessage } from "../../core/log.ts";
import { ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import { streamError } from "../../session/bus/notice.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { Clock } from "../../session/world.ts";
import type { ServerSettings } from "../settings.ts";
import { type Answer, INTERNAL_ERROR } from "./answer.ts";
import { byToken, type RequestAuthenticator, sharedToken, withoutToken } from "./authenticator.ts";
import { Delivery } from "./delivery.ts";
import { EventStreams } from "./event-stream.ts";
import { type ListenAddress, Listener } from "./listener.ts";
import { OwnNames } from "./origins.ts";
import { Reception, requestIdOf, requestScope } from "./pipeline.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { RouteTable } from "./route.ts";

export interface ServerParts {
  readonly settings: ServerSettings;
  readonly table: RouteTable;
  readonly clock: Clock;
  readonly log: Log;
  /** By default as the settings say: one token, or none. */
  readonly authenticator?: RequestAuthenticator;
  /** Whom requests may be let in for; without it, for everybody. */
  readonly tenants?: TenantGate;
  /** How long open requests have when it closes. */
  readonly closeMs?: number;
}

function usualAuthenticator(token: string | null): RequestAuthenticator {
  return token === null ? withoutToken() : byToken([sharedToken(token)]);
}

/** The daemon's outside: listens, lets in, has the routes answer, and closes in order. */
export class HttpServer {
  readonly #parts: ServerParts;
  readonly #listener: Listener;
  readonly #reception: Reception;
  readonly #delivery: Delivery;
  readonly #streams: EventStreams;
  readonly #limiter: RateLimiter | null;
  readonly #open = new Set<ServerResponse>();
  #names: OwnNames;
  #isStopping = false;
  #emptied: () => void = () => {};

  constructor(parts: ServerParts) {
    this.#parts = parts;
    const { settings, table, clock } = parts;
    const { hostname, port, token, rateLimit, requireAuth } = settings;
    const { allowOrigins, trustedProxies } = settings;
    this.#names = new OwnNames(hostname, port);
    const failed = (error: unknown) => this.#logFailure("answer broken off", error);
    this.#limiter = rateLimit && new RateLimiter(rateLimit, () => clock.nowMs());
    const { writerIdleTimeoutMs } = settings;
    this.#streams = new EventStreams({ clock, writerIdleTimeoutMs, failed }, randomUUID);
    this.#delivery = new Delivery({ streams: this.#streams, clock, failed });
    this.#reception = new Reception({
      table,
      clock,
      allowOrigins,
      trustedProxies,
      requireAuth,
      authenticator: parts.authenticator ?? usualAuthenticator(token),
      limiter: this.#limiter,
      tenants: parts.tenants ?? new TenantGate(),
      names: () => this.#names,
    });
    this.#listener = new Listener(settings, (incoming, response) => {
      const given = incoming.headers["x-request-id"];
      const requestId = requestIdOf(given?.toString(), randomUUID);
      response.setHeader("X-Request-Id", requestId);
      requestScope.run({ requestId, route: "" }, () => void this.#serve(incoming, response));
    });
  }

  /** Requests that have no whole answer yet, streams among them. */
  get openRequestCount(): number {
    return this.#open.size;
  }

  get openStreamCount(): number {
    return this.#streams.openCount;
  }

  /** Streams that somebody of this tenant has open, where callers are told apart. */
  streamCountOf(tenantId: TenantId): number {
    return this.#reception.streamCountOf(tenantId);
  }

  /** How often each kind of request came too often; null if that is not counted. */
  get rateLimitHits(): RateLimiter["hits"] | null {
    return this.#limiter?.hits ?? null;
  }

  async listen(): Promise<Result<ListenAddress>> {
    const address = await this.#listener.listen();
    if (!address.ok) return address;
    this.#names = new OwnNames(this.#parts.settings.hostname, address.value.port);
    return ok(address.value);
  }

  /** Nothing new is let in, while what is open may go on: the first step of a shutdown. */
  stopAccepting() {
    this.#isStopping = true;
    this.#listener.stopAccepting();
  }

  /** Ends streams with a last word, waits a little for what is open, and closes all sockets. */
  async close(): Promise<void> {
    this.stopAccepting();
    this.#streams.endAll(streamError("The server is shutting down.", "daemon_shutdown"));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    const callOff = this.#parts.clock.after(this.#parts.closeMs ?? CLOSE_MS_MAX, resolve);
    if (this.#open.size > 0) await late;
    callOff();
    await this.#listener.close();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const startedMs = performance.now();
    this.#open.add(response);
    response.once("close", () => {
      const ms = Math.round(performance.now() - startedMs);
      const { statusCode: status, writableFinished: isWhole } = response;
      this.#parts.log("request", {
        method: incoming.method ?? "",
        status,
        ms,
        whole: `${isWhole}`,
      });
      this.#open.delete(response);
      if (!response.writableFinished) gone.abort();
      if (this.#open.size === 0) this.#emptied();
    });
    // A client that leaves is no error of ours; whoever writes to it looks before.
    incoming.on("error", () => {});
    response.on("error", () => {});
    try {
      const { headers, answer } = this.#reception.greet(incoming, gone.signal);
      const found = await this.#guarded(answer);
      if (this.#isStopping) response.shouldKeepAlive = false;
      await this.#delivery.deliver(found, response, incoming.method === "HEAD", headers);
    } catch (error) {
      this.#logFailure("answer failed", error);
      response.destroy();
    }
  }

  async #guarded(answer: () => Promise<Answer>): Promise<Answer> {
    try {
      return await answer();
    } catch (error) {
      this.#logFailure("request failed", error);
      return INTERNAL_ERROR;
    }
  }

  /** Only the error itself: paths, headers and bodies may have secrets in them. */
  #logFailure(what: LogMessage, error: unknown) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.log(what, { error: cutText(text, LOGGED_ERROR_CHARS_MAX) });
  }
}

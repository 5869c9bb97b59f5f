import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TenantId, UserId } from "../../core/id.ts";
import { CLOSE_MS_MAX, LOGGED_ERROR_CHARS_MAX } from "../../core/limits.ts";
import type { Log, LogMessage } from "../../core/log.ts";
import { ok, type Result } from "../../core/result.ts";
import { cutText } from "../../core/text.ts";
import type { Clock } from "../../platform/clock.ts";
import { streamError, TenantGate } from "../../session/index.ts";
import type { ServerSettings } from "../settings.ts";
import { type Answer, INTERNAL_ERROR, type ReadyAnswer, SERVER_NAME } from "./answer.ts";
import { byToken, type RequestAuthenticator, sharedToken, withoutToken } from "./authenticator.ts";
import { connectionOf } from "./connection.ts";
import { AnswerWriter } from "./delivery.ts";
import { EarlyListener } from "./early-listener.ts";
import { EventStreams } from "./event-stream.ts";
import { connectionLimit, type ListenAddress, type Listener } from "./listener.ts";
import { OwnNames } from "./origins.ts";
import { NO_PAGES, type Pages } from "./page-gate.ts";
import { RequestPipeline } from "./pipeline.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { requestIdOf, requestScope } from "./request-scope.ts";
import type { RouteTable } from "./route.ts";

export interface ServerDeps {
  readonly settings: ServerSettings;
  readonly table: RouteTable;
  readonly clock: Clock;
  readonly log: Log;
  /** By default one token or none, as the settings say. */
  readonly authenticator?: RequestAuthenticator;
  /** Admits requests by tenant; by default all tenants. */
  readonly tenants?: TenantGate;
  /** What browsers get where no route is; by default nothing. */
  readonly pages?: Pages;
  /** One that listens already; by default one of the server's own. */
  readonly early?: EarlyListener | null;
  /** How long open requests may take when the server closes. */
  readonly closeMs?: number;
}

function usualAuthenticator(token: string | null, log: Log): RequestAuthenticator {
  return token === null ? withoutToken(log) : byToken([sharedToken(token)]);
}

/** The HTTP server: accepts requests, has the routes answer, and closes in order. */
export class HttpServer {
  readonly #deps: ServerDeps;
  readonly #authenticator: RequestAuthenticator;
  readonly #early: EarlyListener;
  readonly #pipeline: RequestPipeline;
  readonly #delivery: AnswerWriter;
  readonly #streams: EventStreams;
  readonly #limiter: RateLimiter | null;
  readonly #open = new Set<ServerResponse>();
  #names: OwnNames;
  #isStopping = false;
  /** Ends the requests that wait. */
  readonly #closing = new AbortController();
  #emptied: () => void = () => {};

  constructor(deps: ServerDeps) {
    this.#deps = deps;
    const { settings, table, clock } = deps;
    const { port, token, rateLimit, requireAuth } = settings;
    const { allowOrigins, trustedProxies } = settings;
    this.#authenticator = deps.authenticator ?? usualAuthenticator(token, deps.log);
    this.#names = this.#namesAt(port);
    const failed = (error: unknown) => this.#logFailure("answer broken off", error);
    this.#limiter = rateLimit && new RateLimiter(rateLimit, () => clock.nowMs());
    const { writerIdleTimeoutMs } = settings;
    this.#streams = new EventStreams({ clock, writerIdleTimeoutMs, failed }, randomUUID);
    this.#delivery = new AnswerWriter({ streams: this.#streams, clock, failed });
    this.#pipeline = new RequestPipeline({
      table,
      clock,
      allowOrigins,
      trustedProxies,
      requireAuth,
      authenticator: this.#authenticator,
      limiter: this.#limiter,
      tenants: deps.tenants ?? new TenantGate(),
      connections: {
        max: connectionLimit(settings),
        isCrowded: () => this.#listener.isCrowded,
      },
      names: () => this.#names,
      pages: deps.pages ?? NO_PAGES,
    });
    this.#early = deps.early ?? new EarlyListener(settings, clock);
  }

  get #listener(): Listener {
    return this.#early.listener;
  }

  /** Requests without a complete answer, including streams. */
  get openRequestCount(): number {
    return this.#open.size;
  }

  /** Accepted connections, with a request or idle. */
  get connectionCount(): number {
    return this.#listener.connectionCount;
  }

  get openStreamCount(): number {
    return this.#streams.openCount;
  }

  /** What the bodies of open requests cost. */
  get heldBodyBytes(): number {
    return this.#pipeline.heldBodyBytes;
  }

  /** Open streams of a tenant, if callers are authenticated. */
  streamCountOf(tenantId: TenantId, userId: UserId | null = null): number {
    return this.#pipeline.streamCountOf(tenantId, userId);
  }

  /** Refused requests by tier; null without a rate limit. */
  get rateLimitHits(): RateLimiter["hits"] | null {
    return this.#limiter?.hits ?? null;
  }

  async listen(): Promise<Result<ListenAddress>> {
    const address = await this.#early.listen();
    if (!address.ok) return address;
    this.#names = this.#namesAt(address.value.port);
    this.#early.serve((incoming, response) => this.#accept(incoming, response));
    return ok(address.value);
  }

  #namesAt(port: number): OwnNames {
    const { hostname, allowHosts } = this.#deps.settings;
    const { needsToken } = this.#authenticator;
    return new OwnNames({ hostname, port, needsToken, allowHosts });
  }

  /** Refuses new connections while open requests go on: the first step of a shutdown. */
  stopAccepting() {
    this.#isStopping = true;
    this.#listener.stopAccepting();
  }

  /** Ends streams with a last frame, waits briefly for open requests, and closes all sockets. */
  async close(): Promise<void> {
    this.stopAccepting();
    this.#closing.abort();
    this.#streams.endAll(streamError("The server is shutting down.", "daemon_shutdown"));
    const { promise: late, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    const callOff = this.#deps.clock.after(this.#deps.closeMs ?? CLOSE_MS_MAX, resolve);
    if (this.#open.size > 0) await late;
    callOff();
    await this.#listener.close();
  }

  #accept(incoming: IncomingMessage, response: ServerResponse) {
    const header = incoming.headers["x-request-id"];
    const requestId = requestIdOf(header?.toString(), randomUUID);
    response.setHeader("X-Request-Id", requestId);
    response.setHeader("Server", SERVER_NAME);
    const connection = connectionOf(incoming);
    if (!connection.begin(response)) return;
    const answerHalfClosed = () => connection.answerHalfClosed();
    const scope = { requestId, route: "", answerHalfClosed };
    requestScope.run(scope, () => void this.#serve(incoming, response));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const disconnected = new AbortController();
    const startedMs = performance.now();
    this.#open.add(response);
    response.once("close", () => {
      const ms = Math.round(performance.now() - startedMs);
      const { statusCode: status, writableFinished: isWhole } = response;
      this.#deps.log("request", {
        method: incoming.method ?? "",
        status,
        ms,
        whole: `${isWhole}`,
      });
      this.#open.delete(response);
      if (!response.writableFinished) disconnected.abort();
      if (this.#open.size === 0) this.#emptied();
    });
    // A disconnect is not an error; writers check the socket first.
    incoming.on("error", () => {});
    response.on("error", () => {});
    try {
      const { headers, answer, end } = this.#pipeline.handle(incoming, disconnected.signal);
      response.once("close", end);
      const found = await this.#guarded(() => this.#settled(answer, disconnected.signal));
      if (this.#isStopping) response.shouldKeepAlive = false;
      await this.#delivery.deliver(found, response, incoming.method === "HEAD", headers);
    } catch (error) {
      this.#logFailure("answer failed", error);
      response.destroy();
    }
  }

  /** A request waits here, where it holds neither its body nor the deletion of its tenant. */
  async #settled(answer: () => Promise<Answer>, left: AbortSignal): Promise<ReadyAnswer> {
    const found = await answer();
    if (found.kind !== "waiting") return found;
    return found.settle(AbortSignal.any([left, this.#closing.signal]));
  }

  async #guarded(answer: () => Promise<ReadyAnswer>): Promise<ReadyAnswer> {
    try {
      return await answer();
    } catch (error) {
      this.#logFailure("request failed", error);
      return INTERNAL_ERROR;
    }
  }

  /** Logs only the error: paths, headers and bodies may contain secrets. */
  #logFailure(what: LogMessage, error: unknown) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#deps.log(what, { error: cutText(text, LOGGED_ERROR_CHARS_MAX) });
  }
}

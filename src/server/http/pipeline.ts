import type { IncomingMessage } from "node:http";
import { refusal } from "../../core/error.ts";
import { type ClientId, parseClientId, type TenantId, type UserId } from "../../core/id.ts";
import { IDENTITY_FRESH_MS, SUSPECT_RETRY_MS, SUSPECTS_MAX } from "../../core/limits.ts";
import { isPermitted, type Permission, rolesWith } from "../../core/permission.ts";
import { fail, ok } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TenantGate } from "../../session/index.ts";
import { type Answer, empty, refused, UNAUTHORIZED } from "./answer.ts";
import { type Identified, type RequestAuthenticator, UNKNOWN_CALLER } from "./authenticator.ts";
import { type Body, BodyReader } from "./body.ts";
import { SentFiles, tenantPieces } from "./delivery.ts";
import type { EventSource } from "./event-stream.ts";
import { CodeAttempts, FailedAttempts, tooMany } from "./failed-attempts.ts";
import { CorsGate, type OwnNames, TrustedProxies } from "./origins.ts";
import type { RateLimiter, RateTier } from "./rate-limiter.ts";
import { noteRoute } from "./request-scope.ts";
import {
  type Caller,
  type CallerRoute,
  type Match,
  type Route,
  type RouteRequest,
  type RouteTable,
  readClientId,
  readTarget,
  type ServerRequest,
  type Target,
  takesCode,
} from "./route.ts";
import { OpenStreams } from "./watched-source.ts";

export interface PipelineDeps {
  readonly table: RouteTable;
  readonly authenticator: RequestAuthenticator;
  readonly limiter: RateLimiter | null;
  readonly clock: Clock;
  readonly tenants: TenantGate;
  readonly allowOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Whether `open` routes need a token too. */
  readonly requireAuth: boolean;
  /** Complete once the server listens. */
  names(): OwnNames;
}

/** A request on its way through the pipeline. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly method: string;
  readonly target: Target;
  readonly match: Match;
  readonly signal: AbortSignal;
  /** `TenantGate.changes` when the request arrived. */
  readonly changes: number;
}

/** An authenticated caller, and when it was authenticated. */
interface Authenticated {
  readonly caller: Caller;
  readonly atMs: number;
}

type NoMatch = Exclude<Match, { kind: "found" }>;

/** Stands for a path with broken encoding until its check comes. */
const UNMATCHED: NoMatch = { kind: "unknown" };

/**
 * Takes requests through the checks, in this order, to their routes: CORS, host, authentication,
 * rate, body, path, method, strict routes, authentication again if it may have changed, role,
 * client id. The first check that refuses answers.
 */
export class RequestPipeline {
  readonly #deps: PipelineDeps;
  readonly #cors: CorsGate;
  readonly #bodies: BodyReader;
  readonly #attempts: FailedAttempts;
  readonly #codes: CodeAttempts;
  readonly #proxies: TrustedProxies;
  readonly #openStreams: OpenStreams;
  readonly #files = new SentFiles();
  /** How many tokens of suspect addresses are being checked. */
  #suspects = 0;

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
    this.#cors = new CorsGate(deps.allowOrigins);
    this.#bodies = new BodyReader(deps.clock);
    this.#proxies = new TrustedProxies(deps.trustedProxies);
    this.#attempts = new FailedAttempts(() => deps.clock.nowMs());
    this.#codes = new CodeAttempts(this.#attempts);
    this.#openStreams = new OpenStreams(deps.clock);
  }

  streamCountOf(tenantId: TenantId, userId: UserId | null = null): number {
    return this.#openStreams.countOf(tenantId, userId);
  }

  /** Returns the CORS headers of the answer, and a function that gets the answer. */
  handle(incoming: IncomingMessage, signal: AbortSignal) {
    const { method, headers } = incoming;
    const { origin, host } = headers;
    const isPreflight = Object.keys(headers).some((name) => {
      return name.startsWith("access-control-request-");
    });
    const judged = this.#cors.judge({ method, origin, host, isPreflight }, this.#deps.names());
    const answer = async () => judged.answer ?? this.#answer(incoming, signal);
    return { headers: judged.headers, answer };
  }

  async #answer(incoming: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    const names = this.#deps.names();
    if (!names.hasHost(incoming.headers.host)) return refused(refusal("invalid_host"));
    const exchange = this.#exchangeOf(incoming, signal);
    const isPublic = names.isLoopback && !this.#deps.requireAuth;
    const isOpen = takesCode(exchange.match) || (isPublic && this.#isOpen(exchange));
    const who = isOpen ? null : await this.#identify(exchange);
    if (who !== null && "kind" in who) return who;
    const excess = who && this.#limited(exchange, who.caller);
    if (excess !== null) return excess;
    const { match } = exchange;
    const kind = (match.kind === "found" && match.route.body) || "json";
    const answer = await this.#bodies.with(incoming, kind, (body) => {
      return body.ok ? this.#serve(exchange, who, body.value) : refused(body.refusal);
    });
    // The client disconnected during its body, so the answer reaches no one.
    return answer ?? empty();
  }

  #exchangeOf(incoming: IncomingMessage, signal: AbortSignal): Exchange {
    const { table, tenants } = this.#deps;
    const method = incoming.method ?? "GET";
    const target = readTarget(incoming.url ?? "/");
    const match = target.segments === null ? UNMATCHED : table.match(method, target.segments);
    if (match.kind === "found") noteRoute(match.route);
    return { incoming, method, target, match, signal, changes: tenants.changes };
  }

  /** Where the answer depends on the caller, a caller that sends credentials is authenticated. */
  #isOpen({ match, target, incoming }: Exchange): boolean {
    if (match.kind !== "found" || match.route.gate !== "open") return false;
    if (!match.route.mindsCaller?.(target.query)) return true;
    return this.#deps.authenticator.needsToken && incoming.headers.authorization === undefined;
  }

  /** Finds the caller, or answers that it is unknown, or has failed too often. */
  async #identify({ incoming }: Exchange): Promise<Authenticated | Answer> {
    const { authorization } = incoming.headers;
    const { address } = this.#proxies.peerOf(incoming);
    const retryAfterMs = this.#attempts.waitMs(address, authorization);
    const authenticate = () =>
      this.#deps.authenticator.authenticate(authorization, retryAfterMs !== null);
    const answer = retryAfterMs === null ? authenticate() : this.#authenticateSuspect(authenticate);
    if (answer === null) return tooMany(SUSPECT_RETRY_MS);
    // A synchronous result is counted synchronously: parallel requests cannot bypass the count.
    const found = answer instanceof Promise ? await answer : answer;
    if (found.ok && found.value !== null) {
      this.#attempts.succeeded(authorization);
      return { caller: found.value, atMs: this.#deps.clock.nowMs() };
    }
    if (found.ok) this.#attempts.failed(address, authorization);
    else if (found.refusal.code !== "unauthorized") return refused(found.refusal);
    return retryAfterMs === null ? UNAUTHORIZED : tooMany(retryAfterMs);
  }

  /**
   * Another caller may be behind a suspect address, so credentials that cannot be guessed are still
   * checked. Only a few at a time, because each needs a store lookup. Null means try later.
   */
  #authenticateSuspect(authenticate: () => Identified | Promise<Identified>) {
    if (this.#suspects >= SUSPECTS_MAX) return null;
    const answer = authenticate();
    if (!(answer instanceof Promise)) return answer;
    this.#suspects += 1;
    return answer.finally(() => {
      this.#suspects -= 1;
    });
  }

  #limited(exchange: Exchange, caller: Caller): Answer | null {
    const { limiter, clock } = this.#deps;
    const tier = rateTierOf(exchange);
    const key = this.#rateKeyOf(exchange.incoming, caller);
    const excess = tier === null ? null : limiter?.take(tier, key);
    if (!tier || !excess) return null;
    const { limit, retryAfterMs } = excess;
    return refused(refusal("rate_limit_exceeded", { tier, retryAfterMs }), {
      "X-RateLimit-Limit": `${limit}`,
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": `${Math.ceil((clock.nowMs() + retryAfterMs) / 1_000)}`,
    });
  }

  /**
   * Counts a user across all addresses. Anonymous callers on this machine share an address, so
   * their client ids tell them apart.
   */
  #rateKeyOf(incoming: IncomingMessage, { tenantId, userId }: Caller): string {
    if (userId !== null) return JSON.stringify([tenantId, userId]);
    const { address, isLoopback } = this.#proxies.peerOf(incoming);
    const clientId = parseClientId(headerOf(incoming, "x-qwen-client-id") ?? "") ?? "";
    return isLoopback ? clientId : `${address} ${clientId}`;
  }

  /** Runs the checks that come after the body, and then the route. */
  async #serve(exchange: Exchange, who: Authenticated | null, body: Body): Promise<Answer> {
    const { match } = exchange;
    if (match.kind !== "found") return notFound(exchange.method, exchange.target, match);
    const { route } = match;
    if (route.gate === "strict" && !this.#deps.authenticator.needsToken) {
      return refused(refusal("token_required"));
    }
    const known = who === null ? ok(null) : await this.#reauthenticate(exchange, who);
    if (!known.ok) return refused(known.refusal);
    const caller = known.value;
    if (who !== null && caller === null) return UNAUTHORIZED;
    // The role is checked before the route sees the request: a refusal says nothing about the data.
    const { needs } = route;
    if (needs !== null && caller !== null && !isPermitted(caller.role, needs)) {
      return refused(refusal("role_required", { roles: rolesWith(needs) }));
    }
    const client = readClientId(
      headerOf(exchange.incoming, "x-qwen-client-id"),
      route.clientId ?? "ignored",
    );
    if (client.kind === "refused") return client.answer;
    const request = this.#requestOf(exchange, match.params, body, client.clientId, caller);
    if (route.gate === "open") {
      if (!route.takesCode) return route.handle(request);
      const { address } = this.#proxies.peerOf(exchange.incoming);
      return this.#codes.tried(address, body.object.code, () => route.handle(request));
    }
    if (caller === null) return UNAUTHORIZED;
    const ending = this.#deps.tenants.endingOf(caller.tenantId);
    const answer = await this.#dispatch(exchange, route, { ...request, caller });
    return this.#whileAllowed(exchange, route, caller, answer, ending);
  }

  #requestOf(
    { incoming, target, signal }: Exchange,
    params: RouteRequest["params"],
    { object, bytes }: Body,
    clientId: ClientId | null,
    caller: Caller | null,
  ): RouteRequest {
    return {
      params,
      query: target.query,
      body: object,
      bytes,
      clientId,
      header: (name) => headerOf(incoming, name),
      signal,
      isLoopbackPeer: this.#proxies.peerOf(incoming).isLoopback,
      caller,
    };
  }

  /**
   * Authenticates again before the route runs. Between the head and the end of the body the caller
   * may have been removed or demoted, or the tenant deleted. So this happens if such a change
   * happened in this process, or if the body took so long that another process may have made one.
   */
  async #reauthenticate({ incoming, changes }: Exchange, { caller, atMs }: Authenticated) {
    const { tenants, authenticator, clock } = this.#deps;
    const { deletions } = tenants;
    const waitedMs = clock.nowMs() - atMs;
    const isFresh = waitedMs >= 0 && waitedMs < IDENTITY_FRESH_MS;
    if (isFresh && tenants.changes === changes) return ok(caller);
    const found = await authenticator.authenticate(incoming.headers.authorization);
    if (tenants.deletions !== deletions) return fail("server_busy");
    return found.ok && !isSame(found.value, caller) ? UNKNOWN_CALLER : found;
  }

  /**
   * Has the route handle the request, counted as work for its tenant. Before a request that changed
   * permissions is answered, the change is in effect for other callers. If another request changed
   * the caller's own permissions meanwhile, its vote is checked again.
   */
  async #dispatch(exchange: Exchange, route: CallerRoute, request: ServerRequest): Promise<Answer> {
    const { tenants, authenticator } = this.#deps;
    const { caller } = request;
    const { tenantId, userId } = caller;
    const handle = () => route.handle(request);
    const handling = route.deletesTenant ? handle() : tenants.admit(tenantId, handle);
    if (handling === null) return refused(refusal("tenant_deleting"));
    try {
      return await handling;
    } finally {
      if (route.needs !== null && CHANGES_PERMISSIONS.has(route.needs)) {
        tenants.changed();
        this.#openStreams.recheck(tenantId);
        await authenticator.recheck?.(tenantId, null);
      } else if (userId !== null && tenants.changes !== exchange.changes) {
        const { authorization } = exchange.incoming.headers;
        const mayVote = await this.#isPermittedStill(caller, "session:vote", authorization);
        if (!mayVote) await authenticator.recheck?.(tenantId, { userId, authorization });
      }
    }
  }

  /** Ends a stream or a file when its reader loses access, or when its tenant is deleted. */
  #whileAllowed(
    exchange: Exchange,
    route: Route,
    caller: Caller,
    served: Answer,
    ending: AbortSignal,
  ): Answer {
    const watch = (source: EventSource) => this.#watched(exchange, route, caller, source);
    const answer = this.#files.counted(caller.tenantId, served);
    if (answer.kind === "events") return { ...answer, source: watch(answer.source) };
    if (answer.kind !== "file") return answer;
    const pieces = tenantPieces(answer.pieces, ending);
    const { end, afterwards } = answer;
    if (end === undefined) return { ...answer, pieces };
    const watched = watch(endedBy(end));
    return {
      ...answer,
      pieces,
      afterwards: (fate) => {
        watched.cancel();
        afterwards?.(fate);
      },
    };
  }

  /** Ends a stream when its reader loses the permission to read it. */
  #watched(exchange: Exchange, route: Route, caller: Caller, source: EventSource): EventSource {
    const { authenticator, tenants } = this.#deps;
    if (!authenticator.needsToken) return source;
    const mayRead = async () => {
      // The recheck reads the members again, so it sees changes of other processes.
      await authenticator.recheck?.(caller.tenantId, null);
      return this.#isPermittedStill(caller, route.needs, exchange.incoming.headers.authorization);
    };
    const watched = this.#openStreams.watch(caller, source, mayRead);
    if (tenants.changes !== exchange.changes) this.#openStreams.recheck(caller.tenantId);
    return watched;
  }

  /**
   * Whether the same credentials still have the permission. If that cannot be determined, they do.
   */
  async #isPermittedStill(
    { tenantId, role }: Caller,
    needs: Route["needs"],
    authorization: string | undefined,
  ): Promise<boolean> {
    const found = await this.#deps.authenticator.authenticate(authorization);
    if (!found.ok) return found.refusal.code !== "unauthorized";
    if (found.value?.tenantId !== tenantId) return false;
    // Owners see private sessions; one who is none any more begins again, and sees less.
    if (role === "owner" && found.value.role !== "owner") return false;
    return needs === null || isPermitted(found.value.role, needs);
  }
}

/** A source without events, of which only `end` is used. */
function endedBy(end: () => void): EventSource {
  return { next: async () => ({ done: true, value: undefined }), cancel: () => {}, end };
}

function isSame(found: Caller | null, { tenantId, userId }: Caller): boolean {
  return found?.tenantId === tenantId && found.userId === userId;
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Requests with these permissions can end streams of other users, so those are checked at once. */
const CHANGES_PERMISSIONS: ReadonlySet<Permission> = new Set([
  "members:write",
  "members:delete",
  "tokens:write",
]);

function notFound(method: string, { segments }: Target, match: NoMatch): Answer {
  if (segments === null) {
    return refused(refusal("invalid_request", { reason: "Malformed URL encoding" }));
  }
  if (match.kind === "unknown") return refused(refusal("route_not_found"));
  const { allow } = match;
  if (method === "OPTIONS") return empty({ Allow: allow });
  return refused(refusal("method_not_allowed", { method, allow }), { Allow: allow });
}

/** Null is not rate-limited. */
function rateTierOf({ method, match }: Exchange): RateTier | null {
  const route = match.kind === "found" ? match.route : null;
  if (method === "OPTIONS" || route?.gate === "open" || route?.rate === "exempt") return null;
  if (route?.rate === "prompt") return "prompt";
  return method === "GET" || method === "HEAD" ? "read" : "mutation";
}

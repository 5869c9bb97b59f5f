import type { IncomingMessage } from "node:http";
import { refusal } from "../../core/error.ts";
import type { ClientId, TenantId, UserId } from "../../core/id.ts";
import { isPermitted, type Permission, rolesWith } from "../../core/permission.ts";
import { ok } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TenantGate } from "../../session/index.ts";
import { type Answer, empty, refused, unauthorized } from "./answer.ts";
import { bearerToken, isOperator, type RequestAuthenticator } from "./authenticator.ts";
import { type Body, BodyReader, dropBody } from "./body.ts";
import { type ConnectionHold, type ConnectionLoad, ConnectionShares } from "./connection-shares.ts";
import { allowedPieces, SentFiles } from "./delivery.ts";
import type { EventSource } from "./event-stream.ts";
import type { ShareHolder } from "./fair-shares.ts";
import { type Authenticated, Identification } from "./identification.ts";
import { CorsGate, isCrossSite, networkOf, type OwnNames, TrustedProxies } from "./origins.ts";
import { PageGate, type Pages } from "./page-gate.ts";
import { RateGate } from "./rate-gate.ts";
import type { RateLimiter, RateTier } from "./rate-limiter.ts";
import { headerOf, noteRoute } from "./request-scope.ts";
import {
  bodyKindOf,
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
import { allowedWait, endedBy, OpenStreams } from "./watched-source.ts";

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
  readonly connections: ConnectionLoad;
  readonly pages: Pages;
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
  readonly connection: ConnectionHold;
  /** `TenantGate.changes` when the request arrived. */
  readonly changes: number;
}

type FoundRoute = Extract<Match, { kind: "found" }>;
type NoMatch = Exclude<Match, { kind: "found" }>;

/** Stands for a path with broken encoding until its check comes. */
const UNMATCHED: NoMatch = { kind: "unknown" };

/**
 * Takes requests through the checks, in this order, to their routes: CORS, host, pages where no
 * route is, authentication, rate, path, method, strict routes, role, body, authentication and role
 * again if they may have changed, client id. The first check that refuses answers. So a body is
 * read only for a caller who may use the route, and only if the route wants one.
 */
export class RequestPipeline {
  readonly #deps: PipelineDeps;
  readonly #cors: CorsGate;
  readonly #bodies: BodyReader;
  readonly #connections: ConnectionShares;
  readonly #callers: Identification;
  readonly #proxies: TrustedProxies;
  readonly #openStreams: OpenStreams;
  readonly #rates: RateGate;
  readonly #pages: PageGate;
  readonly #files = new SentFiles();

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
    this.#cors = new CorsGate(deps.allowOrigins);
    this.#bodies = new BodyReader(deps.clock);
    this.#connections = new ConnectionShares(deps.connections);
    this.#proxies = new TrustedProxies(deps.trustedProxies);
    this.#callers = new Identification({ ...deps, proxies: this.#proxies });
    this.#openStreams = new OpenStreams(deps.clock);
    this.#rates = new RateGate(deps.limiter, deps.clock, this.#proxies);
    this.#pages = new PageGate(deps.pages, this.#rates);
  }

  get heldBodyBytes(): number {
    return this.#bodies.heldBytes;
  }

  streamCountOf(tenantId: TenantId, userId: UserId | null = null): number {
    return this.#openStreams.countOf(tenantId, userId);
  }

  /**
   * Returns the CORS headers of the answer, a function that gets the answer, and one for the end of
   * the exchange.
   */
  handle(incoming: IncomingMessage, signal: AbortSignal) {
    const { method, headers } = incoming;
    const { origin, host } = headers;
    const isPreflight = Object.keys(headers).some((name) => {
      return name.startsWith("access-control-request-");
    });
    const judged = this.#cors.judge(
      { method, origin, host, isPreflight, isCrossSite: isCrossSite(incoming) },
      this.#deps.names(),
    );
    const connection = this.#connections.hold();
    const answer = async () => {
      const found = judged.answer ?? (await this.#answer(incoming, signal, connection));
      // Of a request that was refused before; else nothing is left.
      dropBody(incoming, this.#deps.clock);
      return found;
    };
    return { headers: judged.headers, answer, end: () => connection.end() };
  }

  async #answer(
    incoming: IncomingMessage,
    signal: AbortSignal,
    connection: ConnectionHold,
  ): Promise<Answer> {
    const names = this.#deps.names();
    const foreign = names.hostRefusal(incoming.headersDistinct.host ?? []);
    if (foreign !== null) return refused(foreign);
    const exchange = this.#exchangeOf(incoming, signal, connection);
    const page = await this.#page(exchange);
    if (page !== null) return page;
    const isPublic = names.isLoopback && !this.#deps.requireAuth;
    const isOpen = takesCode(exchange.match) || (isPublic && this.#isOpen(exchange));
    const who = isOpen ? null : await this.#callers.identify(incoming);
    if (who !== null && "kind" in who) return who;
    const excess =
      who &&
      (this.#crowded(exchange, who.caller) ??
        this.#rates.excess(incoming, rateTierOf(exchange), who.caller));
    if (excess !== null) return excess;
    const { match } = exchange;
    if (match.kind !== "found") return this.#notFound(exchange, match);
    const caller = who?.caller ?? null;
    const forbidden = this.#forbidden(match.route, caller);
    if (forbidden !== null) return forbidden;
    const kind = bodyKindOf(match.route);
    const address = networkOf(this.#proxies.peerOf(incoming).address);
    const holder = { ...this.#shareOf(caller), address };
    const isStranger = who === null && kind !== "none" && !holder.isOperator;
    const tooMany = isStranger ? connection.stranger(holder) : null;
    if (tooMany !== null) return refused(tooMany, { Connection: "close" });
    const answer = await this.#bodies.with(incoming, kind, holder, (body) =>
      body.ok ? this.#serve(exchange, match, who, body.value) : refused(body.refusal),
    );
    // The client disconnected during its body, so the answer reaches no one.
    return answer ?? empty();
  }

  /** What a browser shows where no route is, or one that yields; it needs no token. */
  async #page({ incoming, target, match, connection }: Exchange): Promise<Answer | null> {
    const isRoute = match.kind === "found";
    if (isRoute && match.route.yieldsToPage === undefined) return null;
    const { address } = this.#proxies.peerOf(incoming);
    const holder = { ...this.#shareOf(null), address: networkOf(address) };
    const { segments } = target;
    return this.#pages.answer({ incoming, segments, isRoute, connection, holder });
  }

  /** Whether the caller's share of connections is used up; it need not keep this one. */
  #crowded({ connection }: Exchange, caller: Caller): Answer | null {
    const excess = connection.request(this.#shareOf(caller));
    return excess === null ? null : refused(excess, { Connection: "close" });
  }

  /** Checked before the body is read, and before the route sees the request. */
  #forbidden({ gate, needs }: Route, caller: Caller | null): Answer | null {
    const { needsToken } = this.#deps.authenticator;
    if (gate === "strict" && !needsToken) return refused(refusal("token_required"));
    if (needs === null || caller === null || isPermitted(caller.role, needs)) return null;
    return refused(refusal("role_required", { roles: rolesWith(needs) }));
  }

  /** Without tokens there is one person, who has everything. */
  #shareOf(caller: Caller | null): ShareHolder {
    const { needsToken } = this.#deps.authenticator;
    return { address: null, caller, isOperator: !needsToken || isOperator(caller) };
  }

  #exchangeOf(
    incoming: IncomingMessage,
    signal: AbortSignal,
    connection: ConnectionHold,
  ): Exchange {
    const { table, tenants } = this.#deps;
    const method = incoming.method ?? "GET";
    const target = readTarget(incoming.url ?? "/");
    const match = target.segments === null ? UNMATCHED : table.match(method, target.segments);
    if (match.kind === "found") noteRoute(match.route);
    return { incoming, method, target, match, signal, connection, changes: tenants.changes };
  }

  /** Where the answer depends on the caller, a caller that sends credentials is authenticated. */
  #isOpen({ match, target, incoming }: Exchange): boolean {
    if (match.kind !== "found" || match.route.gate !== "open") return false;
    if (!match.route.mindsCaller?.(target.query)) return true;
    return this.#deps.authenticator.needsToken && incoming.headers.authorization === undefined;
  }

  #notFound({ method, target: { segments } }: Exchange, match: NoMatch): Answer {
    if (segments === null) {
      return refused(refusal("invalid_request", { reason: "Malformed URL encoding" }));
    }
    if (match.kind === "unknown") {
      return refused(this.#deps.table.notFound(method, segments));
    }
    const { allow } = match;
    if (method === "OPTIONS") return empty({ Allow: allow });
    return refused(refusal("method_not_allowed", { method, allow }), { Allow: allow });
  }

  /** Runs the checks that come after the body, and then the route. */
  async #serve(
    exchange: Exchange,
    { route, params }: FoundRoute,
    who: Authenticated | null,
    body: Body,
  ): Promise<Answer> {
    const { incoming, changes } = exchange;
    const known = who === null ? ok(null) : await this.#callers.again(incoming, changes, who);
    if (!known.ok) return refused(known.refusal);
    const caller = known.value;
    const unknown = unauthorized(bearerToken(incoming.headers.authorization));
    if (who !== null && caller === null) return unknown;
    // Meanwhile the caller may have got another role.
    const forbidden = this.#forbidden(route, caller);
    if (forbidden !== null) return forbidden;
    const client = readClientId(
      headerOf(incoming, "x-qwen-client-id"),
      route.clientId ?? "ignored",
    );
    if (client.kind === "refused") return client.answer;
    const request = this.#requestOf(exchange, params, body, client.clientId, caller);
    if (route.gate === "open") {
      if (!route.takesCode) return route.handle(request);
      return this.#callers.tryCode(incoming, body.object.code, () => route.handle(request));
    }
    if (caller === null) return unknown;
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
        const mayVote = await this.#callers.isPermittedStill(caller, "session:vote", authorization);
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
    if (answer.kind === "events") {
      const excess = exchange.connection.stream(this.#shareOf(caller));
      if (excess === null) return { ...answer, source: watch(answer.source) };
      answer.source.cancel();
      return refused(excess);
    }
    if (answer.kind === "waiting") {
      const excess = exchange.connection.stream(this.#shareOf(caller));
      const gone = unauthorized(bearerToken(exchange.incoming.headers.authorization));
      return excess === null ? allowedWait(answer, { watch, ending, gone }) : refused(excess);
    }
    if (answer.kind !== "file") return answer;
    const { end, afterwards } = answer;
    const forbidden = new AbortController();
    const watched = watch(endedBy(end ?? (() => forbidden.abort())));
    return {
      ...answer,
      pieces: allowedPieces(answer.pieces, AbortSignal.any([ending, forbidden.signal])),
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
      return this.#callers.isPermittedStill(
        caller,
        route.needs,
        exchange.incoming.headers.authorization,
      );
    };
    const watched = this.#openStreams.watch(caller, source, mayRead);
    if (tenants.changes !== exchange.changes) this.#openStreams.recheck(caller.tenantId);
    return watched;
  }
}

/** Requests with these permissions can end streams of other users, so those are checked at once. */
const CHANGES_PERMISSIONS: ReadonlySet<Permission> = new Set([
  "members:write",
  "members:delete",
  "tokens:write",
]);

/** Null is not rate-limited. */
function rateTierOf({ method, match }: Exchange): RateTier | null {
  const route = match.kind === "found" ? match.route : null;
  if (method === "OPTIONS" || route?.gate === "open" || route?.rate === "exempt") return null;
  if (route?.rate === "prompt") return "prompt";
  return method === "GET" || method === "HEAD" ? "read" : "mutation";
}

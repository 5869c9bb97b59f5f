import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { refusal } from "../../core/error.ts";
import { parseClientId, type TenantId } from "../../core/id.ts";
import { IDENTITY_FRESH_MS, SUSPECT_RETRY_MS, SUSPECTS_MAX } from "../../core/limits.ts";
import { isPermitted, type Permission, rolesWith } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { Clock } from "../../session/world.ts";
import { type Answer, empty, refused, UNAUTHORIZED } from "./answer.ts";
import { type Identified, type RequestAuthenticator, UNKNOWN_CALLER } from "./authenticator.ts";
import { type Body, BodyDesk } from "./body.ts";
import { SentFiles, tenantPieces } from "./delivery.ts";
import type { EventSource } from "./event-stream.ts";
import { FailedAttempts } from "./failed-attempts.ts";
import { CorsGate, type OwnNames, TrustedProxies } from "./origins.ts";
import type { RateLimiter, RateTier } from "./rate-limiter.ts";
import {
  type Caller,
  type Match,
  type OpenRequest,
  type Route,
  type RouteTable,
  readClientId,
  readTarget,
  type Target,
} from "./route.ts";
import { Readers } from "./watched-source.ts";

export interface ReceptionParts {
  readonly table: RouteTable;
  readonly authenticator: RequestAuthenticator;
  readonly limiter: RateLimiter | null;
  readonly clock: Clock;
  readonly tenants: TenantGate;
  readonly allowOrigins: readonly string[];
  readonly trustedProxies: readonly string[];
  /** Whether even `open` routes want a token. */
  readonly requireAuth: boolean;
  /** Known once the server listens. */
  names(): OwnNames;
}

/** A request on its way through the gates. */
interface Visit {
  readonly incoming: IncomingMessage;
  readonly method: string;
  readonly target: Target;
  readonly match: Match;
  readonly signal: AbortSignal;
  /** How often it had changed who may come in when it came. */
  readonly changes: number;
}

/** Somebody who was recognized, and when. */
interface Recognized {
  readonly caller: Caller;
  readonly atMs: number;
}

/** A path whose encoding is broken is no path, but that is said in its turn. */
const UNMATCHED: Match = { kind: "unknown" };

/**
 * Leads requests through the gates, in the order of the wire's section 1.2, to their routes. The
 * first gate that refuses is the one that answers.
 */
export class Reception {
  readonly #parts: ReceptionParts;
  readonly #cors: CorsGate;
  readonly #bodies: BodyDesk;
  readonly #attempts: FailedAttempts;
  readonly #proxies: TrustedProxies;
  readonly #readers: Readers;
  readonly #files = new SentFiles();
  /** Suspects whose tokens are being looked at. */
  #suspects = 0;

  constructor(parts: ReceptionParts) {
    this.#parts = parts;
    this.#cors = new CorsGate(parts.allowOrigins);
    this.#bodies = new BodyDesk(parts.clock);
    this.#proxies = new TrustedProxies(parts.trustedProxies);
    this.#attempts = new FailedAttempts(() => parts.clock.nowMs());
    this.#readers = new Readers(parts.clock);
  }

  streamCountOf(tenantId: TenantId): number {
    return this.#readers.countOf(tenantId);
  }

  /** The headers that browsers want on whatever is answered, and how to get the answer. */
  greet(incoming: IncomingMessage, signal: AbortSignal) {
    const { method, headers } = incoming;
    const { origin, host } = headers;
    const isPreflight = Object.keys(headers).some((name) => {
      return name.startsWith("access-control-request-");
    });
    const judged = this.#cors.judge({ method, origin, host, isPreflight }, this.#parts.names());
    const answer = async () => judged.answer ?? this.#answer(incoming, signal);
    return { headers: judged.headers, answer };
  }

  async #answer(incoming: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    const { table, requireAuth } = this.#parts;
    const names = this.#parts.names();
    if (!names.hasHost(incoming.headers.host)) return refused(refusal("invalid_host"));
    const method = incoming.method ?? "GET";
    const target = readTarget(incoming.url ?? "/");
    const match = target.segments === null ? UNMATCHED : table.match(method, target.segments);
    const { changes } = this.#parts.tenants;
    const visit = { incoming, method, target, match, signal, changes };
    const scope = requestScope.getStore();
    if (scope !== undefined && match.kind === "found") scope.route = match.route.path;
    const isFree = names.isLoopback && !requireAuth && this.#isForAnybody(visit);
    return isFree ? this.#readBody(visit, null) : this.#identify(visit);
  }

  /** Where it matters who asks, whoever says who they are has to be that. */
  #isForAnybody({ match, target, incoming }: Visit): boolean {
    if (match.kind !== "found" || match.route.gate !== "open") return false;
    if (!match.route.mindsCaller?.(target.query)) return true;
    return this.#parts.authenticator.needsToken && incoming.headers.authorization === undefined;
  }

  async #identify(visit: Visit): Promise<Answer> {
    const { authorization } = visit.incoming.headers;
    const { address } = this.#proxies.peerOf(visit.incoming);
    const retryAfterMs = this.#attempts.waitMs(address, authorization);
    const judge = () =>
      this.#parts.authenticator.authenticate(authorization, retryAfterMs !== null);
    const answer = retryAfterMs === null ? judge() : this.#judgeSuspect(judge);
    if (answer === null) return tooMany(SUSPECT_RETRY_MS);
    // What is known at once is counted at once: requests that came together are no way around it.
    const found = answer instanceof Promise ? await answer : answer;
    if (found.ok && found.value !== null) {
      this.#attempts.succeeded(authorization);
      const atMs = this.#parts.clock.nowMs();
      const caller = found.value;
      return this.#limited(visit, caller) ?? this.#readBody(visit, { caller, atMs });
    }
    if (found.ok) this.#attempts.failed(address, authorization);
    else if (found.refusal.code !== "unauthorized") return refused(found.refusal);
    return retryAfterMs === null ? UNAUTHORIZED : tooMany(retryAfterMs);
  }

  /**
   * A suspect may be somebody else behind the same address, so what cannot be guessed is still
   * looked at; only of so many at a time, because each costs a look into the store. Null is later.
   */
  #judgeSuspect(judge: () => Identified | Promise<Identified>) {
    if (this.#suspects >= SUSPECTS_MAX) return null;
    const answer = judge();
    if (!(answer instanceof Promise)) return answer;
    this.#suspects += 1;
    return answer.finally(() => {
      this.#suspects -= 1;
    });
  }

  #limited(visit: Visit, caller: Caller): Answer | null {
    const { limiter, clock } = this.#parts;
    const tier = rateTierOf(visit);
    const key = this.#rateKeyOf(visit.incoming, caller);
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
   * A user is the same wherever they are. Where nobody says who they are, those on this machine
   * share an address, and what they call themselves tells them apart.
   */
  #rateKeyOf(incoming: IncomingMessage, { tenantId, userId }: Caller): string {
    if (userId !== null) return JSON.stringify([tenantId, userId]);
    const { address, isLoopback } = this.#proxies.peerOf(incoming);
    const clientId = parseClientId(headerOf(incoming, "x-qwen-client-id") ?? "") ?? "";
    return isLoopback ? clientId : `${address} ${clientId}`;
  }

  async #readBody(visit: Visit, who: Recognized | null): Promise<Answer> {
    const { incoming, match } = visit;
    const kind = (match.kind === "found" && match.route.body) || "json";
    const answer = await this.#bodies.with(incoming, kind, (body) => {
      return this.#enter(visit, who, body);
    });
    // The client left in the middle of its body, so this one reaches nobody.
    return answer ?? empty();
  }

  async #enter(visit: Visit, who: Recognized | null, body: Result<Body>): Promise<Answer> {
    if (!body.ok) return refused(body.refusal);
    const { method, target, match } = visit;
    if (target.segments === null) return malformedUrl();
    if (match.kind === "unknown") return refused(refusal("route_not_found"));
    if (match.kind === "other_method") {
      const headers = { Allow: match.allow };
      if (method === "OPTIONS") return empty(headers);
      return refused(refusal("method_not_allowed", { method, allow: match.allow }), headers);
    }
    const { route, params } = match;
    if (route.gate === "strict" && !this.#parts.authenticator.needsToken) {
      return refused(refusal("token_required"));
    }
    const known = who === null ? ok(null) : await this.#knownStill(visit, who);
    if (!known.ok) return refused(known.refusal);
    if (who !== null && known.value === null) return UNAUTHORIZED;
    // Whoever may not do it learns nothing about what is there to do it with.
    const { needs } = route;
    if (needs !== null && known.value !== null && !isPermitted(known.value.role, needs)) {
      return refused(refusal("role_required", { roles: rolesWith(needs) }));
    }
    return this.#ask(visit, route, params, known.value, body.value);
  }

  /**
   * Who it is by now. Between the head of a request and the end of its body somebody may have been
   * removed, or made less, or their tenant deleted. So they are looked up again if anything of the
   * kind has happened here, or if that took so long that another process may have done it; and
   * come in as if just now.
   */
  async #knownStill({ incoming, changes }: Visit, { caller, atMs }: Recognized) {
    const { tenants, authenticator, clock } = this.#parts;
    const { deletions } = tenants;
    const waitedMs = clock.nowMs() - atMs;
    const isFresh = waitedMs >= 0 && waitedMs < IDENTITY_FRESH_MS;
    if (isFresh && tenants.changes === changes) return ok(caller);
    const found = await authenticator.authenticate(incoming.headers.authorization);
    if (tenants.deletions !== deletions) return fail("server_busy");
    return found.ok && !isSame(found.value, caller) ? UNKNOWN_CALLER : found;
  }

  async #ask(
    visit: Visit,
    route: Route,
    params: Readonly<Record<string, string>>,
    caller: Caller | null,
    { object, bytes }: Body,
  ): Promise<Answer> {
    const { incoming, target, signal } = visit;
    const header = (name: string) => headerOf(incoming, name);
    const named = readClientId(header("x-qwen-client-id"), route.clientId ?? "ignored");
    if (named.kind === "refused") return named.answer;
    const { clientId } = named;
    const { isLoopback: isLoopbackPeer } = this.#proxies.peerOf(incoming);
    const asked = { params, query: target.query, body: object, bytes, clientId, header, signal };
    const request: OpenRequest = { ...asked, isLoopbackPeer, caller };
    if (route.gate === "open") return route.handle(request);
    if (caller === null) return UNAUTHORIZED;
    const handle = () => route.handle({ ...request, caller });
    const { tenants } = this.#parts;
    const ending = tenants.endingOf(caller.tenantId);
    const asking = route.deletesTenant ? handle() : tenants.admit(caller.tenantId, handle);
    if (asking === null) return refused(refusal("tenant_deleting"));
    const served = await this.#served(visit, route, caller, asking);
    const answer = this.#files.counted(caller.tenantId, served);
    if (answer.kind === "events") {
      return { ...answer, source: this.#watched(visit, route, caller, answer.source) };
    }
    if (answer.kind !== "file") return answer;
    const pieces = tenantPieces(answer.pieces, ending);
    const { end, afterwards } = answer;
    if (end === undefined) return { ...answer, pieces };
    const watched = this.#watched(visit, route, caller, endedBy(end));
    return {
      ...answer,
      pieces,
      afterwards: (fate) => {
        watched.cancel();
        afterwards?.(fate);
      },
    };
  }

  /** What goes on for longer than its request, for as long as its reader may read it. */
  #watched(visit: Visit, route: Route, caller: Caller, source: EventSource): EventSource {
    const { authenticator, tenants } = this.#parts;
    if (!authenticator.needsToken) return source;
    const mayGoOn = async () => {
      // By whatever way this one came in: what another process did to the members is seen by it.
      await authenticator.recheck?.(caller.tenantId, null);
      return this.#isStill(caller, route.needs, visit.incoming.headers.authorization);
    };
    const watched = this.#readers.watch(caller.tenantId, source, mayGoOn);
    if (tenants.changes !== visit.changes) this.#readers.recheck(caller.tenantId);
    return watched;
  }

  /**
   * Sees to it that what a request has changed about others is so when it is answered, and what
   * others have changed about its caller while it was served.
   */
  async #served(visit: Visit, route: Route, caller: Caller, asking: Promise<Answer>) {
    const { tenants, authenticator } = this.#parts;
    const { tenantId, userId } = caller;
    try {
      return await asking;
    } finally {
      if (route.needs !== null && CHANGES_STANDING.has(route.needs)) {
        tenants.changed();
        this.#readers.recheck(tenantId);
        await authenticator.recheck?.(tenantId, null);
      } else if (userId !== null && tenants.changes !== visit.changes) {
        const { authorization } = visit.incoming.headers;
        const mayVote = await this.#isStill(caller, "session:vote", authorization);
        if (!mayVote) await authenticator.recheck?.(tenantId, { userId, authorization });
      }
    }
  }

  /** Whether the same credential would still get as far; where nobody can tell, it does. */
  async #isStill(
    { tenantId }: Caller,
    needs: Route["needs"],
    authorization: string | undefined,
  ): Promise<boolean> {
    const found = await this.#parts.authenticator.authenticate(authorization);
    if (!found.ok) return found.refusal.code !== "unauthorized";
    if (found.value?.tenantId !== tenantId) return false;
    return needs === null || isPermitted(found.value.role, needs);
  }
}

/** Nobody reads it as a stream: only its end is of use. */
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

/** What comes of these may end somebody's streams: at once, and not when the next look is due. */
const CHANGES_STANDING: ReadonlySet<Permission> = new Set([
  "members:write",
  "members:delete",
  "tokens:write",
]);

function tooMany(retryAfterMs: number): Answer {
  return refused(refusal("too_many_attempts", { retryAfterMs }));
}

function malformedUrl(): Answer {
  return refused(refusal("invalid_request", { reason: "Malformed URL encoding" }));
}

/** Null is not counted (wire, 1.7). */
function rateTierOf({ method, match }: Visit): RateTier | null {
  const route = match.kind === "found" ? match.route : null;
  if (method === "OPTIONS" || route?.gate === "open" || route?.rate === "exempt") return null;
  if (route?.rate === "prompt") return "prompt";
  return method === "GET" || method === "HEAD" ? "read" : "mutation";
}

/** What belongs to one request, for whatever is done on its behalf. */
interface RequestScope {
  readonly requestId: string;
  /** The row of the table that it is for, once that is known: a path may have secrets in it. */
  route: string;
}

/**
 * Knows on whose behalf something is done, however deep: so that a log can be followed from a
 * request to the events that it led to by one id.
 */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** A name that a caller gave to its request is kept, if it is one; else it gets one. */
export function requestIdOf(header: string | undefined, fresh: () => string): string {
  return header !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(header) ? header : fresh();
}

import type { IncomingMessage } from "node:http";
import { IDENTITY_FRESH_MS, SUSPECT_RETRY_MS, SUSPECTS_MAX } from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import { fail, ok } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TenantGate } from "../../session/index.ts";
import { type Answer, refused, unauthorized } from "./answer.ts";
import {
  bearerToken,
  type Identified,
  type RequestAuthenticator,
  UNKNOWN_CALLER,
} from "./authenticator.ts";
import { CodeAttempts, FailedAttempts, tooMany } from "./failed-attempts.ts";
import type { TrustedProxies } from "./origins.ts";
import type { Caller, Route } from "./route.ts";

export interface IdentificationDeps {
  readonly authenticator: RequestAuthenticator;
  readonly clock: Clock;
  readonly tenants: TenantGate;
  readonly proxies: TrustedProxies;
}

/** An authenticated caller, and when it was authenticated. */
export interface Authenticated {
  readonly caller: Caller;
  readonly atMs: number;
}

/** Finds out who sent a request, and whether that still holds later. Guesses are limited. */
export class Identification {
  readonly #deps: IdentificationDeps;
  readonly #attempts: FailedAttempts;
  readonly #codes: CodeAttempts;
  /** How many tokens of suspect addresses are being checked. */
  #suspects = 0;

  constructor(deps: IdentificationDeps) {
    this.#deps = deps;
    this.#attempts = new FailedAttempts(() => deps.clock.nowMs());
    this.#codes = new CodeAttempts(this.#attempts);
  }

  /** Finds the caller, or answers that it is unknown, or has failed too often. */
  async identify(incoming: IncomingMessage): Promise<Authenticated | Answer> {
    const { authorization } = incoming.headers;
    const { address } = this.#deps.proxies.peerOf(incoming);
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
    return retryAfterMs === null ? unauthorized(bearerToken(authorization)) : tooMany(retryAfterMs);
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

  /** Has a caller without a token try the code of a body. */
  tryCode(incoming: IncomingMessage, code: unknown, redeem: () => Promise<Answer>) {
    return this.#codes.tried(this.#deps.proxies.peerOf(incoming).address, code, redeem);
  }

  /**
   * Authenticates again before the route runs. Between the head and the end of the body the caller
   * may have been removed or demoted, or the tenant deleted. So this happens if such a change
   * happened in this process, or if the body took so long that another process may have made one.
   */
  async again({ headers }: IncomingMessage, changes: number, { caller, atMs }: Authenticated) {
    const { tenants, authenticator, clock } = this.#deps;
    const { deletions } = tenants;
    const waitedMs = clock.nowMs() - atMs;
    const isFresh = waitedMs >= 0 && waitedMs < IDENTITY_FRESH_MS;
    if (isFresh && tenants.changes === changes) return ok(caller);
    const found = await authenticator.authenticate(headers.authorization);
    if (tenants.deletions !== deletions) return fail("server_busy");
    return found.ok && !isSame(found.value, caller) ? UNKNOWN_CALLER : found;
  }

  /**
   * Whether the same credentials still have the permission. If that cannot be determined, they do.
   */
  async isPermittedStill(
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

function isSame(found: Caller | null, { tenantId, userId }: Caller): boolean {
  return found?.tenantId === tenantId && found.userId === userId;
}

import type { IncomingMessage } from "node:http";
import { refusal } from "../../core/error.ts";
import { parseClientId } from "../../core/id.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Answer, refused } from "./answer.ts";
import { networkOf, type TrustedProxies } from "./origins.ts";
import type { RateLimiter, RateTier } from "./rate-limiter.ts";
import { headerOf } from "./request-scope.ts";
import type { Caller } from "./route.ts";

/** Refuses requests beyond the rate of their sender. */
export class RateGate {
  readonly #limiter: RateLimiter | null;
  readonly #clock: Clock;
  readonly #proxies: TrustedProxies;

  /** Without a limiter it refuses nothing. */
  constructor(limiter: RateLimiter | null, clock: Clock, proxies: TrustedProxies) {
    this.#limiter = limiter;
    this.#clock = clock;
    this.#proxies = proxies;
  }

  /** Counts one request. Without a tier it is not limited; without a caller it is a stranger's. */
  excess(incoming: IncomingMessage, tier: RateTier | null, caller: Caller | null): Answer | null {
    const key = caller === null ? this.#strangerKey(incoming) : this.#keyOf(incoming, caller);
    const excess = tier === null ? null : this.#limiter?.take(tier, key);
    if (!tier || !excess) return null;
    const { limit, retryAfterMs } = excess;
    return refused(refusal("rate_limit_exceeded", { tier, retryAfterMs }), {
      "X-RateLimit-Limit": `${limit}`,
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": `${Math.ceil((this.#clock.nowMs() + retryAfterMs) / 1_000)}`,
    });
  }

  /**
   * Counts a user across all addresses. Anonymous callers on this machine share an address, so
   * their client ids tell them apart.
   */
  #keyOf(incoming: IncomingMessage, { tenantId, userId }: Caller): string {
    if (userId !== null) return JSON.stringify([tenantId, userId]);
    const { address, isLoopback } = this.#proxies.peerOf(incoming);
    const clientId = parseClientId(headerOf(incoming, "x-qwen-client-id") ?? "") ?? "";
    return isLoopback ? clientId : `${address} ${clientId}`;
  }

  /** Apart from callers of the same address: a stranger must not use up what they have. */
  #strangerKey(incoming: IncomingMessage): string {
    return `stranger ${networkOf(this.#proxies.peerOf(incoming).address)}`;
  }
}

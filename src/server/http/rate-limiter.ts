import { RATE_KEYS_MAX, RATE_SWEEP_MS } from "../../core/limits.ts";

export type RateTier = "prompt" | "mutation" | "read";

export interface RateLimit {
  /** How many requests of each tier a caller may send at once, and within each window. */
  readonly max: Readonly<Record<RateTier, number>>;
  readonly windowMs: number;
}

export interface RateExcess {
  readonly limit: number;
  readonly retryAfterMs: number;
}

interface Bucket {
  readonly tier: RateTier;
  /** What is left, in fractions of a request: one request is `windowMs` parts. */
  parts: number;
  atMs: number;
}

/** A token bucket for each caller and tier. A caller with a full bucket needs no entry. */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #sweptMs = Number.NEGATIVE_INFINITY;
  /** Refused requests by tier. */
  readonly hits: Record<RateTier, number> = { prompt: 0, mutation: 0, read: 0 };

  constructor(limit: RateLimit, nowMs: () => number) {
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  /** Null admits the request. */
  take(tier: RateTier, caller: string): RateExcess | null {
    const bucket = this.#bucketOf(tier, caller);
    if (bucket === null) return null;
    this.#refill(bucket);
    const { windowMs, max } = this.#limit;
    if (bucket.parts >= windowMs) {
      bucket.parts -= windowMs;
      return null;
    }
    this.hits[tier] += 1;
    const retryAfterMs = Math.ceil((windowMs - bucket.parts) / max[tier]);
    return { limit: max[tier], retryAfterMs };
  }

  /** When all entries belong to busy callers, new callers pass. */
  #bucketOf(tier: RateTier, caller: string): Bucket | null {
    const key = `${tier} ${caller}`;
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    if (this.#buckets.size >= RATE_KEYS_MAX) this.#sweep();
    if (this.#buckets.size >= RATE_KEYS_MAX) return null;
    const bucket = { tier, parts: this.#fullOf(tier), atMs: this.#nowMs() };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #refill(bucket: Bucket) {
    const nowMs = this.#nowMs();
    const gained = Math.max(0, nowMs - bucket.atMs) * this.#limit.max[bucket.tier];
    bucket.parts = Math.min(this.#fullOf(bucket.tier), bucket.parts + gained);
    bucket.atMs = nowMs;
  }

  #fullOf(tier: RateTier): number {
    return this.#limit.max[tier] * this.#limit.windowMs;
  }

  #sweep() {
    const nowMs = this.#nowMs();
    // After the clock was set back, the sweep must not wait for it to catch up.
    const isRecent = nowMs >= this.#sweptMs && nowMs - this.#sweptMs < RATE_SWEEP_MS;
    if (isRecent) return;
    this.#sweptMs = nowMs;
    for (const [key, bucket] of this.#buckets) {
      this.#refill(bucket);
      if (bucket.parts >= this.#fullOf(bucket.tier)) this.#buckets.delete(key);
    }
  }
}

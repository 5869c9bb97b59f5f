import { createHash } from "node:crypto";
import { ERRORS, refusal } from "../../core/error.ts";
import {
  ATTEMPT_ADDRESSES_MAX,
  ATTEMPTS_FAILED_MAX,
  ATTEMPTS_WINDOW_MS,
  CODES_TRIED_AT_ONCE_MAX,
  CREDENTIALS_KNOWN_MAX,
  INVITATION_CODE_CHARS_MAX,
  SUSPECT_RETRY_MS,
} from "../../core/limits.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { type Answer, refused } from "./answer.ts";
import { networkOf } from "./origins.ts";

interface Failures {
  count: number;
  readonly sinceMs: number;
}

/**
 * Counts wrong tokens by address. An address with too many is suspect for the rest of the window:
 * its further guesses are not checked. Other callers behind the same address, such as a proxy,
 * still get in with a credential that was valid before, or that cannot be guessed. A success clears
 * no failure.
 */
export class FailedAttempts {
  readonly #nowMs: () => number;
  /** Ordered by window, so that the first entry ends first. */
  readonly #failures = new BoundedMap<string, Failures>(ATTEMPT_ADDRESSES_MAX);
  /** Hashes of valid credentials. */
  readonly #good = new BoundedMap<string, true>(CREDENTIALS_KNOWN_MAX);

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long this caller has to wait; null if it may try. */
  waitMs(address: string | undefined, authorization: string | undefined): number | null {
    const failures = this.#failures.get(networkOf(address));
    if (failures === undefined || failures.count < ATTEMPTS_FAILED_MAX) return null;
    if (!this.#isOn(failures) || authorization === undefined) return null;
    const leftMs = failures.sinceMs + ATTEMPTS_WINDOW_MS - this.#nowMs();
    return this.#good.has(hashOf(authorization)) ? null : leftMs;
  }

  /** A request without credentials is not an attempt. */
  failed(address: string | undefined, authorization: string | undefined) {
    if (authorization === undefined) return;
    const key = networkOf(address);
    const nowMs = this.#nowMs();
    const known = this.#failures.get(key);
    // A credential that fails now is no longer valid.
    this.#good.delete(hashOf(authorization));
    if (known !== undefined && this.#isOn(known)) {
      known.count += 1;
      return;
    }
    this.#failures.set(key, { count: 1, sinceMs: nowMs });
  }

  /** A window that begins in the future is over: the clock was set back. */
  #isOn({ sinceMs }: Failures): boolean {
    const ageMs = this.#nowMs() - sinceMs;
    return ageMs >= 0 && ageMs < ATTEMPTS_WINDOW_MS;
  }

  succeeded(authorization: string | undefined) {
    if (authorization === undefined) return;
    const hash = hashOf(authorization);
    if (!this.#good.has(hash)) this.#good.set(hash, true);
  }
}

/**
 * Lets callers without a token try codes, no more often than wrong tokens. Only a few are checked
 * at a time: guesses sent all at once cannot come in before the first of them has counted.
 */
export class CodeAttempts {
  readonly #attempts: FailedAttempts;
  #trying = 0;

  constructor(attempts: FailedAttempts) {
    this.#attempts = attempts;
  }

  async tried(
    address: string | undefined,
    code: unknown,
    redeem: () => Promise<Answer>,
  ): Promise<Answer> {
    const attempt = `code ${String(code).slice(0, INVITATION_CODE_CHARS_MAX)}`;
    const waitMs = this.#attempts.waitMs(address, attempt);
    if (waitMs !== null) return tooMany(waitMs);
    if (this.#trying >= CODES_TRIED_AT_ONCE_MAX) return tooMany(SUSPECT_RETRY_MS);
    this.#trying += 1;
    try {
      const answer = await redeem();
      const isWrong = answer.kind === "json" && answer.status === WRONG_CODE;
      if (isWrong) this.#attempts.failed(address, attempt);
      return answer;
    } finally {
      this.#trying -= 1;
    }
  }
}

const WRONG_CODE = ERRORS.invitation_not_found.status;

export function tooMany(retryAfterMs: number): Answer {
  return refused(refusal("too_many_attempts", { retryAfterMs }));
}

function hashOf(authorization: string): string {
  return createHash("sha256").update(authorization).digest("base64");
}

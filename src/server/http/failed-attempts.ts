import { createHash } from "node:crypto";
import { isIPv6 } from "node:net";
import {
  ATTEMPT_ADDRESSES_MAX,
  ATTEMPTS_FAILED_MAX,
  ATTEMPTS_WINDOW_MS,
  CREDENTIALS_KNOWN_MAX,
} from "../../core/limits.ts";

interface Failures {
  count: number;
  readonly sinceMs: number;
}

/**
 * Who has tried too many wrong tokens. An address that has is suspect for the rest of the window:
 * no further guess of its is judged. Others behind the same address, such as a proxy, go on with
 * what has been good before, or cannot be guessed. Success pardons no failure.
 */
export class FailedAttempts {
  readonly #nowMs: () => number;
  /** In the order of their windows, so the first is the first to end. */
  readonly #failures = new Map<string, Failures>();
  /** Hashes of what was sent and good; the oldest go first. */
  readonly #good = new Set<string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How long this one has to wait; null may try. */
  waitMs(address: string | undefined, authorization: string | undefined): number | null {
    const failures = this.#failures.get(keyOf(address));
    if (failures === undefined || failures.count < ATTEMPTS_FAILED_MAX) return null;
    if (!this.#isOn(failures) || authorization === undefined) return null;
    const leftMs = failures.sinceMs + ATTEMPTS_WINDOW_MS - this.#nowMs();
    return this.#good.has(hashOf(authorization)) ? null : leftMs;
  }

  /** Somebody who sent nothing has not tried anything. */
  failed(address: string | undefined, authorization: string | undefined) {
    if (authorization === undefined) return;
    const key = keyOf(address);
    const nowMs = this.#nowMs();
    const known = this.#failures.get(key);
    // What has failed was good once, and is not any more.
    this.#good.delete(hashOf(authorization));
    if (known !== undefined && this.#isOn(known)) {
      known.count += 1;
      return;
    }
    this.#failures.delete(key);
    if (this.#failures.size >= ATTEMPT_ADDRESSES_MAX) dropFirst(this.#failures);
    this.#failures.set(key, { count: 1, sinceMs: nowMs });
  }

  /** A window that begins in the future, because the clock was set back, is over. */
  #isOn({ sinceMs }: Failures): boolean {
    const ageMs = this.#nowMs() - sinceMs;
    return ageMs >= 0 && ageMs < ATTEMPTS_WINDOW_MS;
  }

  succeeded(authorization: string | undefined) {
    if (authorization === undefined) return;
    const hash = hashOf(authorization);
    if (this.#good.has(hash)) return;
    if (this.#good.size >= CREDENTIALS_KNOWN_MAX) dropFirst(this.#good);
    this.#good.add(hash);
  }
}

/** Whoever has one address of the new kind has all of its network, so that counts as one. */
function keyOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address) || address.startsWith("::")) return address ?? "";
  const [head = "", tail] = address.split("::");
  const groups = tail === undefined ? head.split(":") : [...head.split(":"), "0", "0", "0"];
  return groups.slice(0, 4).join(":");
}

function hashOf(authorization: string): string {
  return createHash("sha256").update(authorization).digest("base64");
}

function dropFirst(collection: Map<string, unknown> | Set<string>) {
  const [first] = collection.keys();
  if (first !== undefined) collection.delete(first);
}

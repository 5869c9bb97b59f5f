import type { Caller } from "../route.ts";

interface Known {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Who is behind a token that was verified, for a while; of too many the oldest goes (A12). */
export class Verified {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();

  constructor(most: number, nowMs: () => number) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  find(hash: string): Caller | null {
    const known = this.#known.get(hash);
    if (known === undefined) return null;
    const nowMs = this.#nowMs();
    // What was verified in the future was so before the clock was set back: nobody knows how long.
    if (nowMs >= known.sinceMs && nowMs < known.untilMs) return known.caller;
    this.#known.delete(hash);
    return null;
  }

  keep(hash: string, caller: Caller, untilMs: number) {
    this.#known.delete(hash);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#most && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(hash, { caller, sinceMs: this.#nowMs(), untilMs });
  }
}

import type { Caller } from "../route.ts";

/** Who is behind a token that was verified, for a while; of too many the oldest goes (A12). */
export class Verified {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, { readonly caller: Caller; readonly untilMs: number }>();

  constructor(most: number, nowMs: () => number) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  find(hash: string): Caller | null {
    const known = this.#known.get(hash);
    if (known === undefined) return null;
    if (this.#nowMs() < known.untilMs) return known.caller;
    this.#known.delete(hash);
    return null;
  }

  keep(hash: string, caller: Caller, untilMs: number) {
    this.#known.delete(hash);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#most && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(hash, { caller, untilMs });
  }
}

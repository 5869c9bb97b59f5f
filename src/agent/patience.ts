/** How long a call may take: so long, or longer as long as the agent is at work. */
export type CallLimit = number | PatientLimit;

export interface PatientLimit {
  readonly ms: number;
  /** In all, however much it does. */
  readonly msMax: number;
  /** Looks for a while whether it does anything. */
  isAtWork(): Promise<boolean>;
}

/** A limit of time that stands still while nobody listens: what was not heard is not late. */
export class Patience {
  readonly #limit: CallLimit;
  readonly #late: (waitedMs: number) => void;
  readonly #mostMs: number;
  #leftMs: number;
  /** How much longer it has taken, and was let. */
  #overMs = 0;
  #sinceMs = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Whoever was looking when it was stopped has nothing to say any more. */
  #runs = 0;

  constructor(limit: CallLimit, late: (waitedMs: number) => void) {
    this.#limit = limit;
    this.#late = late;
    this.#leftMs = typeof limit === "number" ? limit : limit.ms;
    this.#mostMs = typeof limit === "number" ? limit : limit.msMax;
  }

  run() {
    if (this.#timer !== null) return;
    this.#runs += 1;
    const run = this.#runs;
    this.#sinceMs = performance.now();
    this.#timer = setTimeout(() => void this.#passed(run), this.#leftMs);
  }

  stop() {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#runs += 1;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#sinceMs));
  }

  /** The time is up. An agent that is at work gets more of it, up to all that there is. */
  async #passed(run: number): Promise<void> {
    const limit = this.#limit;
    if (typeof limit === "number") return this.#late(limit);
    while (limit.ms + this.#overMs < this.#mostMs) {
      const lookedMs = performance.now();
      const isAtWork = await limit.isAtWork();
      if (run !== this.#runs) return;
      if (!isAtWork) break;
      this.#overMs += Math.ceil(performance.now() - lookedMs);
    }
    this.#late(Math.min(limit.ms + this.#overMs, this.#mostMs));
  }
}

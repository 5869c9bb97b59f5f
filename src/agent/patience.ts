/** A limit of time that stands still while nobody listens: what was not heard is not late. */
export class Patience {
  readonly #late: () => void;
  #leftMs: number;
  #sinceMs = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(limitMs: number, late: () => void) {
    this.#leftMs = limitMs;
    this.#late = late;
  }

  run() {
    if (this.#timer !== null) return;
    this.#sinceMs = performance.now();
    this.#timer = setTimeout(this.#late, this.#leftMs);
  }

  stop() {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#sinceMs));
  }
}

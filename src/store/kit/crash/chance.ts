/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, and less than `bound`. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True in `percent` of a hundred cases. */
  happens(percent: number): boolean {
    return this.below(100) < percent;
  }

  oneOf<Value>(values: readonly Value[]): Value | undefined {
    return values[this.below(values.length)];
  }
}

/** At least one of them, so that one can always be picked. */
export type Some<Item> = readonly [Item, ...Item[]];

/**
 * All that is random in a life. The same seed gives the same numbers for ever, on every machine:
 * whole numbers of 32 bits and nothing else (sfc32, which is small and passes the usual tests).
 */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) | 0;
    this.#c = 0x5eed;
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A whole number from 0 up to, and without, the limit. */
  under(limit: number): number {
    return this.#next() % limit;
  }

  between(first: number, last: number): number {
    return first + this.under(last - first + 1);
  }

  happens(probability: number): boolean {
    return this.#next() < probability * 2 ** 32;
  }

  pick<Item>(items: Some<Item>): Item {
    return items[this.under(items.length)] ?? items[0];
  }

  /** Undefined where there is nothing to choose from. */
  among<Item>(items: readonly Item[]): Item | undefined {
    return items.length === 0 ? undefined : items[this.under(items.length)];
  }

  /** Each with its weight, a whole number. */
  weighed<Item>(choices: Some<readonly [Item, number]>): Item {
    const sum = choices.reduce((total, [, weight]) => total + weight, 0);
    let place = this.under(sum);
    for (const [item, weight] of choices) {
      if (place < weight) return item;
      place -= weight;
    }
    return choices[0][0];
  }
}

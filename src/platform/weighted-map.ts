/**
 * A map whose values weigh at most `limit` together: one more evicts those that were used least
 * recently, and one that is too heavy by itself is not kept.
 */
export class WeightedMap<Key, Value> {
  readonly #limit: number;
  readonly #entries = new Map<Key, { readonly value: Value; readonly weight: number }>();
  #weight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  /** Returns the value and makes its entry the newest. */
  use(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: Key, value: Value, weight: number): void {
    this.delete(key);
    if (weight > this.#limit) return;
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#limit) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}

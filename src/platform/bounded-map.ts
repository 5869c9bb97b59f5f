/**
 * A map with at most `limit` entries: one more evicts the oldest. `set` makes an entry the newest,
 * `get` leaves the order alone. Where the least recently used entry is to go, read with `use`.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number;
  readonly #onEvict: ((value: Value, key: Key) => void) | undefined;

  /** `onEvict` releases what an evicted value holds. It is not called for `delete` or `clear`. */
  constructor(limit: number, onEvict?: (value: Value, key: Key) => void) {
    super();
    this.#limit = limit;
    this.#onEvict = onEvict;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#limit) this.#evictOldest();
    return this;
  }

  /** Returns the value and makes its entry the newest. */
  use(key: Key): Value | undefined {
    const value = this.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  #evictOldest() {
    for (const [key, value] of this) {
      this.delete(key);
      this.#onEvict?.(value, key);
      return;
    }
  }
}

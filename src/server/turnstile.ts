/** Lets those through one after the other who have the same name, in the order of arrival. */
export class Turnstile {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #counts = new Map<string, number>();

  /** How many of this name wait, with the one who passes. */
  countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  async pass<Value>(name: string, act: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(name);
    const acting = before === undefined ? act() : before.then(act, act);
    this.#last.set(name, acting);
    this.#counts.set(name, this.countOf(name) + 1);
    try {
      return await acting;
    } finally {
      this.#counts.set(name, this.countOf(name) - 1);
      if (this.#last.get(name) === acting) {
        this.#last.delete(name);
        this.#counts.delete(name);
      }
    }
  }
}

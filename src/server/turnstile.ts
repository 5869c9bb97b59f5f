/** Lets those through one after the other who have the same name, in the order of arrival. */
export class Turnstile {
  readonly #last = new Map<string, Promise<unknown>>();

  async pass<Value>(name: string, act: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(name);
    const acting = before === undefined ? act() : before.then(act, act);
    this.#last.set(name, acting);
    try {
      return await acting;
    } finally {
      if (this.#last.get(name) === acting) this.#last.delete(name);
    }
  }
}

/** Gives out at most `limit` permits at a time; later callers wait in their order. */
export class Semaphore {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves with the release of a permit. Calling the release again does nothing. */
  async acquire(): Promise<() => void> {
    if (this.#taken < this.#limit) this.#taken += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let isReleased = false;
    return () => {
      if (!isReleased) this.#release();
      isReleased = true;
    };
  }

  /** Runs `task` with a permit, and releases it when the task has settled. */
  async run<Value>(task: () => Value | Promise<Value>): Promise<Value> {
    const release = await this.acquire();
    try {
      return await task();
    } finally {
      release();
    }
  }

  /** Hands the permit to the next caller directly, so that no later caller can take it first. */
  #release() {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}

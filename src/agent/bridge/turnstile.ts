/** Lets so many in at a time; the others wait, in the order in which they came. */
export class Turnstile {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves when there is room, with what is to be called at the end, once or more often. */
  async enter(): Promise<() => void> {
    if (this.#inside < this.#most) this.#inside += 1;
    else await new Promise<void>((go) => this.#waiting.push(go));
    let isInside = true;
    return () => {
      if (isInside) this.#leave();
      isInside = false;
    };
  }

  /** The next one takes the place, so that nobody comes in between. */
  #leave() {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }
}

import type { Tell } from "./schedule.ts";

/** What a life has broken, as sentences that begin with the promise. */
export class Judge {
  readonly broken: string[] = [];
  readonly #tell: Tell;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  get isContent(): boolean {
    return this.broken.length === 0;
  }

  holds(isSo: boolean, promise: string, otherwise: () => string) {
    if (isSo) return;
    const sentence = `${promise}: ${otherwise()}`;
    this.broken.push(sentence);
    this.#tell?.(`BROKEN ${sentence}`);
  }
}

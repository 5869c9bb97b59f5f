import type { Chunk } from "./frame.ts";

/** Nothing, if there is nothing just now; null, if there will never be anything again. */
type Take = () => Chunk | null | Promise<Chunk | null>;

/**
 * The side of a stream that its one reader sees. The reader asks, takes all that waits in one go,
 * and asks again when it has room; what it has not asked for waits with the stream.
 */
export class ChunkReader {
  readonly #take: Take;
  #wake: (() => void) | null = null;
  #isReading = false;
  #isOver = false;

  constructor(take: Take) {
    this.#take = take;
  }

  /** Whether the reader has asked and has not been answered: then nothing waits for it. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** There is something to take. What is published until the reader runs goes along. */
  wake() {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  /** The reader is told that it is over, and is given nothing more. */
  close() {
    this.#isOver = true;
    this.wake();
  }

  async next(): Promise<IteratorResult<Chunk, undefined>> {
    if (this.#isReading) throw new Error("a stream has one reader, which asks once at a time");
    this.#isReading = true;
    try {
      while (!this.#isOver) {
        const taken = this.#take();
        const chunk = taken instanceof Promise ? await taken : taken;
        if (chunk === null) this.#isOver = true;
        else if (chunk.length > 0 && !this.#isOver) return { done: false, value: chunk };
        // After a wait something may have come unheard; only a look without one can be trusted.
        else if (!(taken instanceof Promise)) await this.#woken();
      }
      return { done: true, value: undefined };
    } finally {
      this.#isReading = false;
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

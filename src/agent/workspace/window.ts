/**
 * The lines of a file that somebody wants, each with its end, so that one window after the other
 * gives the file. It keeps nothing else, and stops wanting when it has them or holds too much.
 */
export class LineWindow {
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #toSkip: number;
  #toTake: number;

  /** Lines are counted from 1, and 0 is taken for that; no limit takes all that follow. */
  constructor(line: number | null, limit: number | null, bytesMax: number) {
    this.#toSkip = Math.max((line ?? 1) - 1, 0);
    this.#toTake = limit ?? Number.POSITIVE_INFINITY;
    this.#bytesMax = bytesMax;
  }

  get isOverfull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  get wantsMore(): boolean {
    return this.#toTake > 0 && !this.isOverfull;
  }

  /** The chunk may be used again afterwards: what is wanted of it is copied. */
  feed(chunk: Buffer) {
    const start = this.#skip(chunk);
    const end = this.#take(chunk, start);
    if (end === start) return;
    this.#parts.push(Buffer.from(chunk.subarray(start, end)));
    this.#bytes += end - start;
  }

  /** Bytes that are no UTF-8 become replacement characters: an agent is better off with those. */
  text(): string {
    return Buffer.concat(this.#parts).toString("utf8");
  }

  #skip(chunk: Buffer): number {
    let start = 0;
    while (this.#toSkip > 0) {
      const end = chunk.indexOf(LF, start);
      if (end < 0) return chunk.length;
      start = end + 1;
      this.#toSkip -= 1;
    }
    return start;
  }

  #take(chunk: Buffer, start: number): number {
    if (this.#toTake === Number.POSITIVE_INFINITY) return chunk.length;
    let end = start;
    while (this.#toTake > 0 && end < chunk.length) {
      const found = chunk.indexOf(LF, end);
      if (found < 0) return chunk.length;
      end = found + 1;
      this.#toTake -= 1;
    }
    return end;
  }
}

const LF = 0x0a;

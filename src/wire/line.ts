/** A line that is longer than allowed is not kept, only told of. */
export const OVERLONG = Symbol("overlong line");

/**
 * Cuts a stream of bytes into lines. It holds at most one unfinished line, and of one that grows
 * past the limit nothing at all: a gigabyte without a newline costs a counter.
 */
export class LineSplitter {
  readonly #bytesMax: number;
  /** The unfinished line, with room to grow: its parts may be one byte each, and millions. */
  #held = EMPTY;
  #bytes = 0;
  #isSkipping = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The lines that this chunk completes, without their ends; a CR before the LF goes with it. */
  *feed(chunk: Buffer): Generator<string | typeof OVERLONG> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const line = this.#finish(chunk, start, end);
      start = end + 1;
      if (line !== "") yield line;
    }
    this.#keep(chunk.subarray(start));
  }

  /** What is left when the stream ends in the middle of a line. */
  rest(): string | typeof OVERLONG {
    return this.#finish(EMPTY, 0, 0);
  }

  /** Most lines lie within one chunk, and are then decoded where they lie. */
  #finish(chunk: Buffer, start: number, end: number): string | typeof OVERLONG {
    if (this.#bytes > 0) this.#keep(chunk.subarray(start, end));
    const isLong = this.#isSkipping || end - start > this.#bytesMax;
    const line = this.#bytes > 0 ? this.#held.toString("utf8", 0, this.#bytes) : null;
    this.#forget();
    this.#isSkipping = false;
    if (isLong) return OVERLONG;
    const text = line ?? chunk.toString("utf8", start, end);
    return text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  #keep(part: Buffer) {
    if (part.length === 0 || this.#isSkipping) return;
    const bytes = this.#bytes + part.length;
    if (bytes > this.#bytesMax) {
      this.#isSkipping = true;
      this.#forget();
      return;
    }
    if (bytes > this.#held.length) {
      const roomy = Buffer.allocUnsafe(Math.min(this.#bytesMax, Math.max(bytes, 2 * this.#bytes)));
      this.#held.copy(roomy, 0, 0, this.#bytes);
      this.#held = roomy;
    }
    part.copy(this.#held, this.#bytes);
    this.#bytes = bytes;
  }

  #forget() {
    this.#held = EMPTY;
    this.#bytes = 0;
  }
}

const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

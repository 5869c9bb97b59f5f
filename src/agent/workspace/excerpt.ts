import { StringDecoder } from "node:string_decoder";
import { CONTINUATION_BYTES_MAX, isContinuation, OutputRing } from "./ring.ts";

/** How much of the beginning and of the end of an output is kept. */
export interface ExcerptBounds {
  readonly headBytesMax: number;
  readonly tailBytesMax: number;
}

/**
 * The beginning and the end of an output, as text that can be told while it comes: first the
 * beginning piece by piece, then all the rest at once. What is left out in the middle is counted,
 * and the text says so in its place.
 */
export class OutputExcerpt {
  readonly #tail: OutputRing;
  readonly #tailBytesMax: number;
  readonly #decoder = new StringDecoder("utf8");
  #headBytesLeft: number;
  #tailBytes = 0;
  /** What came and has not been taken yet. */
  #news = "";

  constructor({ headBytesMax, tailBytesMax }: ExcerptBounds) {
    this.#headBytesLeft = headBytesMax;
    this.#tailBytesMax = tailBytesMax;
    this.#tail = new OutputRing(tailBytesMax);
  }

  push(chunk: Buffer) {
    const head = this.#tailBytes > 0 ? 0 : this.#headOf(chunk);
    if (head > 0) this.#news += this.#decoder.write(chunk.subarray(0, head));
    this.#headBytesLeft -= head;
    if (head === chunk.length) return;
    this.#tailBytes += chunk.length - head;
    this.#tail.push(chunk.subarray(head));
  }

  get hasNews(): boolean {
    return this.#news !== "";
  }

  /** The next piece of the beginning. */
  take(): string {
    const news = this.#news;
    this.#news = "";
    return news;
  }

  /** The last piece: nothing comes any more. */
  end(): string {
    const leftOut = this.#tailBytes - this.#tailBytesMax;
    const gap = leftOut > 0 ? `\n… ${leftOut} bytes left out …\n` : "";
    return this.take() + this.#decoder.end() + gap + this.#tail.read(true).output;
  }

  /**
   * How much of a chunk belongs to the beginning. That never ends within a character, so it may
   * have a few bytes more than it has room for.
   */
  #headOf(chunk: Buffer): number {
    const most = Math.min(chunk.length, this.#headBytesLeft + CONTINUATION_BYTES_MAX);
    let end = Math.min(chunk.length, Math.max(this.#headBytesLeft, 0));
    while (end < most && isContinuation(chunk[end])) end += 1;
    return end;
  }
}

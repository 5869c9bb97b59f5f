import { StringDecoder } from "node:string_decoder";

/**
 * The end of what a command has written. However it floods, and in however small pieces, nothing
 * is held but one buffer, which grows with the output up to the limit and then is written over.
 */
export class OutputRing {
  readonly #bytesMax: number;
  #buffer = Buffer.alloc(0);
  /** All bytes that ever came; the place of the next one follows from it. */
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(chunk: Buffer) {
    this.#grow(this.#total + chunk.length);
    const size = this.#buffer.length;
    const kept = chunk.subarray(Math.max(chunk.length - size, 0));
    this.#total += chunk.length;
    if (kept.length === 0) return;
    const start = (this.#total - kept.length) % size;
    const copied = kept.copy(this.#buffer, start);
    kept.copy(this.#buffer, 0, copied);
  }

  /**
   * As text within the limit, cut at the beginning between two characters. While more may come,
   * a character at the end that is not complete yet is left for later.
   */
  read(isComplete: boolean): { readonly output: string; readonly truncated: boolean } {
    const isCut = this.#total > this.#bytesMax;
    const bytes = isCut ? afterCut(this.#inOrder()) : this.#buffer.subarray(0, this.#total);
    const decoder = new StringDecoder("utf8");
    const output = decoder.write(bytes) + (isComplete ? decoder.end() : "");
    // Each byte that is no UTF-8 became a replacement character of three.
    if (Buffer.byteLength(output) <= this.#bytesMax) return { output, truncated: isCut };
    const encoded = Buffer.from(output);
    const end = encoded.subarray(encoded.length - this.#bytesMax);
    return { output: afterCut(end).toString("utf8"), truncated: true };
  }

  /** Before the limit is reached nothing was written over, so the old bytes are in order. */
  #grow(total: number) {
    const size = this.#buffer.length;
    if (total <= size || size === this.#bytesMax) return;
    const larger = Buffer.alloc(Math.min(Math.max(total, size * 2), this.#bytesMax));
    this.#buffer.copy(larger, 0, 0, this.#total);
    this.#buffer = larger;
  }

  #inOrder(): Buffer {
    const size = this.#buffer.length;
    const start = size === 0 ? 0 : this.#total % size;
    return Buffer.concat([this.#buffer.subarray(start), this.#buffer.subarray(0, start)]);
  }
}

/** Without the rest of a character whose beginning was cut off: at most three bytes. */
function afterCut(bytes: Buffer): Buffer {
  let start = 0;
  while (start < CONTINUATION_BYTES_MAX && isContinuation(bytes[start])) start += 1;
  return bytes.subarray(start);
}

/** So many bytes of a character may follow its first in UTF-8. */
export const CONTINUATION_BYTES_MAX = 3;

export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

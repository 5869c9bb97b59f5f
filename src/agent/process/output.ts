import { StringDecoder } from "node:string_decoder";

/**
 * The end of a command's output, in one buffer that grows up to the limit and is then overwritten,
 * however much the command writes.
 */
export class OutputRing {
  readonly #bytesMax: number;
  #buffer = Buffer.alloc(0);
  /** All bytes ever pushed; the position of the next one follows from it. */
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

  /** The size of all output, kept or not. */
  get totalBytes(): number {
    return this.#total;
  }

  /** What is kept, in order. */
  bytes(): Buffer {
    const size = this.#buffer.length;
    if (this.#total <= size) return this.#buffer.subarray(0, this.#total);
    const start = size === 0 ? 0 : this.#total % size;
    return Buffer.concat([this.#buffer.subarray(start), this.#buffer.subarray(0, start)]);
  }

  /**
   * The output as text within the limit, cut at the beginning between two characters. While more
   * may come, an incomplete character at the end is left out.
   */
  read(isComplete: boolean): { readonly output: string; readonly truncated: boolean } {
    const isCut = this.#total > this.#bytesMax;
    const bytes = isCut ? afterCut(this.bytes()) : this.bytes();
    const decoder = new StringDecoder("utf8");
    const output = decoder.write(bytes) + (isComplete ? decoder.end() : "");
    // Each invalid byte became a replacement character of three bytes.
    if (Buffer.byteLength(output) <= this.#bytesMax) return { output, truncated: isCut };
    const encoded = Buffer.from(output);
    const end = encoded.subarray(encoded.length - this.#bytesMax);
    return { output: afterCut(end).toString("utf8"), truncated: true };
  }

  /** Before the limit is reached nothing was overwritten, so the old bytes are in order. */
  #grow(total: number) {
    const size = this.#buffer.length;
    if (total <= size || size === this.#bytesMax) return;
    const larger = Buffer.alloc(Math.min(Math.max(total, size * 2), this.#bytesMax));
    this.#buffer.copy(larger, 0, 0, this.#total);
    this.#buffer = larger;
  }
}

/** Without the rest of a character whose start was cut off: at most three bytes. */
function afterCut(bytes: Buffer): Buffer {
  let start = 0;
  while (start < CONTINUATION_BYTES_MAX && isContinuation(bytes[start])) start += 1;
  return bytes.subarray(start);
}

/** How many bytes may follow the first byte of a character in UTF-8. */
const CONTINUATION_BYTES_MAX = 3;

export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

/** How much of the beginning and of the end of an output is kept. */
export interface ExcerptBounds {
  readonly headBytesMax: number;
  readonly tailBytesMax: number;
}

/**
 * The beginning and the end of an output, as text that can be sent while it comes: first the
 * beginning piece by piece, then the rest at once. A line in the text says how many bytes in the
 * middle are left out.
 */
export class OutputExcerpt {
  readonly #tail: OutputRing;
  readonly #tailBytesMax: number;
  readonly #decoder = new StringDecoder("utf8");
  #headBytesLeft: number;
  #tailBytes = 0;
  /** What has not been taken yet. */
  #untaken = "";

  constructor({ headBytesMax, tailBytesMax }: ExcerptBounds) {
    this.#headBytesLeft = headBytesMax;
    this.#tailBytesMax = tailBytesMax;
    this.#tail = new OutputRing(tailBytesMax);
  }

  push(chunk: Buffer) {
    const head = this.#tailBytes > 0 ? 0 : this.#headOf(chunk);
    if (head > 0) this.#untaken += this.#decoder.write(chunk.subarray(0, head));
    this.#headBytesLeft -= head;
    if (head === chunk.length) return;
    this.#tailBytes += chunk.length - head;
    this.#tail.push(chunk.subarray(head));
  }

  get hasUntaken(): boolean {
    return this.#untaken !== "";
  }

  /** The next piece of the beginning. */
  take(): string {
    const text = this.#untaken;
    this.#untaken = "";
    return text;
  }

  /** The last piece, after which no output comes. */
  end(): string {
    const leftOut = this.#tailBytes - this.#tailBytesMax;
    const gap = leftOut > 0 ? `\n… ${leftOut} bytes left out …\n` : "";
    return this.take() + this.#decoder.end() + gap + this.#tail.read(true).output;
  }

  /**
   * How much of a chunk belongs to the beginning. It never ends within a character, so it may have
   * a few bytes more than its limit.
   */
  #headOf(chunk: Buffer): number {
    const most = Math.min(chunk.length, this.#headBytesLeft + CONTINUATION_BYTES_MAX);
    let end = Math.min(chunk.length, Math.max(this.#headBytesLeft, 0));
    while (end < most && isContinuation(chunk[end])) end += 1;
    return end;
  }
}

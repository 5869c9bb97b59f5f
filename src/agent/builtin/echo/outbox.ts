import type { Writable } from "node:stream";
import { BATCH_CHARS_MAX, EXIT_FLUSH_MS_MAX } from "./limits.ts";

/**
 * Everything that echo writes, in order. What is said in one turn of the loop goes out in one
 * write; a reader that falls behind is waited for by whoever heeds the promise.
 */
export class Outbox {
  readonly #output: Writable;
  #batch = "";
  #isScheduled = false;
  #full: Promise<undefined> | undefined;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** Undefined while there is room; else a promise for when there is again. */
  send(text: string): Promise<undefined> | undefined {
    this.post(text);
    return this.#full;
  }

  /** For answers and the like, of which there are no more than the client has asked for. */
  post(text: string) {
    this.#batch += text;
    if (this.#batch.length >= BATCH_CHARS_MAX) this.#flush();
    else this.#flushSoon();
  }

  /** When all has been handed over, or the reader has had its time. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, EXIT_FLUSH_MS_MAX).unref();
      const last = this.#batch;
      this.#batch = "";
      this.#output.write(last, () => resolve());
    });
  }

  #flushSoon() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush() {
    if (this.#batch === "") return;
    const batch = this.#batch;
    this.#batch = "";
    if (this.#output.write(batch) || this.#full !== undefined) return;
    this.#full = new Promise((resolve) => {
      this.#output.once("drain", () => {
        this.#full = undefined;
        resolve(undefined);
      });
    });
  }
}

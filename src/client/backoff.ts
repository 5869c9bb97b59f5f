/** How long to wait before another attempt: twice as long each time, at a random part of that. */
export class Backoff {
  #failures = 0;

  /** The last attempt got through. */
  reset() {
    this.#failures = 0;
  }

  /** The server may ask for more time than the next attempt would leave it. */
  nextMs(atLeastMs: number | null = null): number {
    const most = Math.min(FIRST_MS * 2 ** this.#failures, LONGEST_MS);
    this.#failures += 1;
    // Many clients that lost one server do not come back all at once.
    return Math.max(most * (0.5 + Math.random() / 2), Math.min(atLeastMs ?? 0, ASKED_MS_MAX));
  }
}

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

/** A server that asks for more time than this is asked again all the same. */
const ASKED_MS_MAX = 60_000;

/** Rejects with the reason of the signal as soon as that is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}

/** How long single operations took, for the figures below a trial's row. */
export class Latencies {
  readonly #name: string;
  readonly #ms: number[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Times one operation, from the call to its answer. */
  async of<Value>(act: () => Promise<Value>): Promise<Value> {
    const startedMs = performance.now();
    const value = await act();
    this.add(performance.now() - startedMs);
    return value;
  }

  /** One that was timed elsewhere. */
  add(ms: number) {
    if (this.#ms.length < SAMPLES_MAX) this.#ms.push(ms);
  }

  get figures(): Readonly<Record<string, string>> {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
    const text = [0.5, 0.99].map((share) => `p${share * 100} ${at(share).toFixed(2)} ms`);
    return { [this.#name]: text.join(", ") };
  }
}

/** Enough for a steady last percent, and little to sort. */
const SAMPLES_MAX = 200_000;

/** What an agent can do wrong on its line without harm to anybody: it is counted and told. */
export type FaultKind =
  | "malformed_line"
  | "overlong_line"
  | "unsolicited_answer"
  | "duplicate_request"
  | "too_many_requests"
  | "unknown_method"
  | "unknown_session"
  | "invalid_update";

/** Hears of a fault with how often it has happened, and what it looked like. */
export type FaultListener = (kind: FaultKind, count: number, sample: string) => void;

/**
 * Counts an agent's faults. They are told of at the first, the tenth, the hundredth and so on:
 * an agent that writes a million bad lines must not write a million log lines.
 */
export class FaultLog {
  readonly #listener: FaultListener;
  readonly #counts = new Map<FaultKind, number>();
  #firstLine: string | null = null;

  constructor(listener: FaultListener) {
    this.#listener = listener;
  }

  add(kind: FaultKind, sample: string) {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const cut = sample.slice(0, SAMPLE_CHARS_MAX);
    if (kind === "malformed_line") this.#firstLine ??= cut;
    if (isPowerOfTen(count)) this.#listener(kind, count, cut);
  }

  get counts(): ReadonlyMap<FaultKind, number> {
    return this.#counts;
  }

  /** The first thing it wrote that was no message: usually the reason why it does not work. */
  get firstMalformedLine(): string | null {
    return this.#firstLine;
  }
}

const SAMPLE_CHARS_MAX = 256;

function isPowerOfTen(count: number): boolean {
  return Number.isInteger(Math.log10(count));
}

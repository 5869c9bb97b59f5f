import { AGENT_FAULT_SAMPLE_CHARS_MAX } from "../core/limits.ts";
import { cutText } from "../core/text.ts";

/** What can go wrong on an agent's line without harm to anybody else: it is counted and told. */
export type FaultKind =
  | "malformed_line"
  | "overlong_line"
  | "unsolicited_answer"
  | "duplicate_request"
  | "too_many_requests"
  | "unknown_method"
  | "unknown_session"
  | "invalid_update"
  /** It said more of a session, while that was being made, than anybody keeps. */
  | "dropped_update"
  /** It loaded a session, and did not stop sending what was said in it before. */
  | "endless_replay"
  /** It asked, and does not read its answers. */
  | "dropped_answer"
  /** Whoever listened to one of its sessions failed, and hears no more of it. */
  | "failed_listener";

/** Hears of a fault with how often it has happened, and what it looked like. */
export type FaultListener = (kind: FaultKind, count: number, sample: string) => void;

/**
 * Counts an agent's faults. They are told of at the first, the tenth, the hundredth and so on:
 * an agent that writes a million bad lines must not write a million log lines.
 */
export class FaultLog {
  readonly #listener: FaultListener;
  readonly #readable: (text: string) => string;
  readonly #counts = new Map<FaultKind, number>();
  #firstLine: string | null = null;

  /** What is shown of a bad line is made readable first, and cut only then (P11). */
  constructor(listener: FaultListener, readable: (text: string) => string = (text) => text) {
    this.#listener = listener;
    this.#readable = readable;
  }

  add(kind: FaultKind, sample: string) {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (!isPowerOfTen(count)) return;
    const cut = cutText(this.#readable(sample), AGENT_FAULT_SAMPLE_CHARS_MAX);
    if (kind === "malformed_line") this.#firstLine ??= cut;
    this.#listener(kind, count, cut);
  }

  /** The first thing it wrote that was no message: usually the reason why it does not work. */
  get firstMalformedLine(): string | null {
    return this.#firstLine;
  }
}

function isPowerOfTen(count: number): boolean {
  return Number.isInteger(Math.log10(count));
}

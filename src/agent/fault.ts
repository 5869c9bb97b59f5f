import { AGENT_FAULT_SAMPLE_CHARS_MAX } from "../core/limits.ts";
import { cutText } from "../core/text.ts";

/** Faults of an agent that harm nothing else: they are counted and logged. */
export type FaultKind =
  | "malformed_line"
  | "overlong_line"
  | "unsolicited_answer"
  | "duplicate_request"
  | "too_many_requests"
  | "unknown_method"
  | "unknown_session"
  /** It wanted a form filled in, or a page opened, for which there is no client. */
  | "declined_elicitation"
  | "invalid_update"
  /** It sent more about a session that is being opened than the server keeps. */
  | "dropped_update"
  /** It loaded a session, and did not stop replaying it. */
  | "endless_replay"
  /** It sent requests, and does not read the answers. */
  | "dropped_answer"
  /** The listener of one of its sessions failed, and is not called again. */
  | "failed_listener";

/** Called with a fault, how often it has happened, and a sample. */
export type FaultListener = (kind: FaultKind, count: number, sample: string) => void;

/**
 * Counts an agent's faults. It reports the first, the tenth, the hundredth and so on: a million
 * bad lines of an agent must not make a million log lines.
 */
export class FaultLog {
  readonly #listener: FaultListener;
  readonly #readable: (text: string) => string;
  readonly #counts = new Map<FaultKind, number>();
  #firstLine: string | null = null;

  /** A sample is made readable and free of secrets before it is cut (P11). */
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

  /** The first line that was no message: usually the reason why the agent does not work. */
  get firstMalformedLine(): string | null {
    return this.#firstLine;
  }
}

function isPowerOfTen(count: number): boolean {
  return Number.isInteger(Math.log10(count));
}

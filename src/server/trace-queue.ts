import type { TraceReader, WireLine } from "../agent/keeper.ts";
import { AGENT_TRACE_LINE_CHARS_MAX, AGENT_TRACE_WAITING_CHARS_MAX } from "../core/limits.ts";
import { cutText } from "../core/text.ts";

/**
 * The lines that wait for one reader of a trace. Agents wait for nobody who reads along: one that
 * is too slow loses lines, and is told how many (P10).
 */
export class TraceQueue implements TraceReader {
  readonly #redact: (text: string) => string;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #isOver = false;
  #wake: () => void = () => {};

  /** Every line is freed of the secrets that are known before it is cut (P11). */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  line({ atMs, line, ...about }: WireLine) {
    if (this.#isOver) return;
    if (this.#waitingChars + line.length > AGENT_TRACE_WAITING_CHARS_MAX) {
      this.#lost += 1;
      return;
    }
    this.#tellLost();
    const whole = this.#redact(line);
    const cut = cutText(whole, AGENT_TRACE_LINE_CHARS_MAX);
    const cutChars = whole.length - cut.length;
    const at = new Date(atMs).toISOString();
    this.#add({ at, ...about, line: cut, ...(cutChars > 0 && { cutChars }) });
  }

  ended() {
    this.#isOver = true;
    this.#wake();
  }

  /** The first one comes at once, so that the reader knows that it reads. */
  async *pieces(): AsyncGenerator<string> {
    yield `${JSON.stringify({ at: new Date().toISOString(), trace: "begun" })}\n`;
    for (;;) {
      const waiting = this.#waiting;
      this.#waiting = [];
      this.#waitingChars = 0;
      if (waiting.length > 0) yield waiting.join("");
      else if (this.#isOver) return;
      else if (this.#lost > 0) this.#tellLost();
      else await this.#next();
    }
  }

  #tellLost() {
    if (this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#add({ at: new Date().toISOString(), lost });
  }

  #add(entry: object) {
    const text = `${JSON.stringify(entry)}\n`;
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    this.#wake();
  }

  async #next(): Promise<void> {
    await new Promise<void>((wake) => {
      this.#wake = wake;
    });
  }
}

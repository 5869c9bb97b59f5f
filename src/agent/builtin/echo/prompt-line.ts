import { type Answer, refusal } from "./answer.ts";
import { STEERED_PROMPTS_MAX } from "./limits.ts";

/** Prompts of one session that are done one after the other, as some agents do it. */
export class PromptLine {
  readonly #waiting = new Set<{ isCancelled: boolean }>();
  #last: Promise<unknown> = Promise.resolve();

  add(begin: () => Promise<Answer>): Answer | Promise<Answer> {
    if (this.#waiting.size > STEERED_PROMPTS_MAX) {
      return refusal("invalidRequest", "too many prompts are waiting");
    }
    const mine = { isCancelled: false };
    this.#waiting.add(mine);
    const answer = this.#last.then(() => {
      this.#waiting.delete(mine);
      return mine.isCancelled ? { result: { stopReason: "cancelled" } } : begin();
    });
    // The next one begins when this one's answer is out, whatever it is.
    const breath = () => new Promise(setImmediate);
    this.#last = answer.then(breath, breath);
    return answer;
  }

  clear() {
    for (const prompt of this.#waiting) prompt.isCancelled = true;
  }
}

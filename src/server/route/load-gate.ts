import { LOADS_HELD_CHARS_MAX, LOADS_MADE_MAX } from "../../core/limits.ts";
import type { Answer } from "../answer.ts";

/**
 * A loaded history weighs many megabytes, several times that while it is made, and stays until its
 * client has taken it. So only a few are made at a time, and none while too much of what was made
 * waits for slow clients (P10). Whoever comes then waits in the order of arrival: an answer that
 * nobody takes is given up by its delivery, so nobody waits for ever.
 */
export class LoadGate {
  readonly #waiting: (() => void)[] = [];
  #made = 0;
  #heldChars = 0;

  async pass(make: () => Promise<Answer>): Promise<Answer> {
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#letIn();
    await turn;
    try {
      return this.#hold(await make());
    } finally {
      this.#made -= 1;
      this.#letIn();
    }
  }

  #hold(answer: Answer): Answer {
    const chars = answer.kind === "json" ? answer.text.length : 0;
    this.#heldChars += chars;
    const afterwards: Answer["afterwards"] = (fate) => {
      this.#heldChars -= chars;
      this.#letIn();
      answer.afterwards?.(fate);
    };
    return { ...answer, afterwards };
  }

  #letIn() {
    while (this.#made < LOADS_MADE_MAX && this.#heldChars < LOADS_HELD_CHARS_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#made += 1;
      next();
    }
  }
}

import type { ToolCallNews } from "../../core/agent-update.ts";
import { TOOL_CALLS_TRACKED_MAX } from "../../core/limits.ts";
import type { TokenUsage } from "../../core/price.ts";

/**
 * The model calls of a turn, as far as they can be seen: the first, and one more whenever tool
 * calls have ended. An agent that tells the figures of its last call only is found by this.
 */
export class ModelCalls {
  #seen = 1;
  #reported = 0;
  #last: string | null = null;
  /** A tool call has ended, and none has begun since. */
  #isAnswered = false;
  readonly #begun = new Set<string>();
  readonly #ended = new Set<string>();

  turnBegins() {
    this.#seen = 1;
    this.#reported = 0;
    this.#last = null;
    this.#isAnswered = false;
    this.#begun.clear();
    this.#ended.clear();
  }

  learn(news: ToolCallNews | null) {
    if (news === null || this.#begun.size >= TOOL_CALLS_TRACKED_MAX) return;
    const { toolCallId, status } = news;
    if (!this.#begun.has(toolCallId)) this.#isAnswered = false;
    this.#begun.add(toolCallId);
    if (status === "open" || this.#ended.has(toolCallId)) return;
    this.#ended.add(toolCallId);
    if (!this.#isAnswered) this.#seen += 1;
    this.#isAnswered = true;
  }

  /** Figures of one call came in the middle of the turn. */
  reported(tokens: TokenUsage) {
    this.#reported += 1;
    this.#last = JSON.stringify(tokens);
  }

  /** Whether these are the figures that were reported last. */
  isLast(tokens: TokenUsage): boolean {
    return JSON.stringify(tokens) === this.#last;
  }

  /** Whether figures of the last call can only be a part: there were others, and none had any. */
  get isMissingSome(): boolean {
    return this.#reported === 0 && this.#seen > 1;
  }
}

import { isObject, type JsonObject } from "../../core/json.ts";
import { TURN_TOKENS_MAX } from "../../core/limits.ts";
import { NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { ContextUsage } from "../../core/turn.ts";

/** What an agent tells of its tokens, put together from two places where it may tell it. */
export class UsageMeter {
  #used: number | null = null;
  #size: number | null = null;
  #tokens: TokenUsage = NO_TOKENS;

  turnBegins() {
    this.#tokens = NO_TOKENS;
  }

  /** A `usage_update`: how full the context is. Some agents add the turn's tokens to it. */
  updated(update: JsonObject) {
    this.#used = countAt(update, "used");
    this.#size = countAt(update, "size");
    if (isObject(update.usage)) this.#tokens = tokensOf(update.usage);
  }

  /** The `usage` of a prompt's answer: what all of the turn's model calls took together. */
  answered(usage: unknown): boolean {
    if (!isObject(usage)) return false;
    this.#tokens = tokensOf(usage);
    return true;
  }

  reading(model: string | null): ContextUsage {
    return { model, used: this.#used, size: this.#size, tokens: this.#tokens };
  }
}

function tokensOf(usage: JsonObject): TokenUsage {
  return {
    input: countAt(usage, "inputTokens") ?? 0,
    output: countAt(usage, "outputTokens") ?? 0,
    cachedRead: countAt(usage, "cachedReadTokens") ?? 0,
    cachedWrite: countAt(usage, "cachedWriteTokens") ?? 0,
    thought: countAt(usage, "thoughtTokens") ?? 0,
  };
}

/** A count that is no count is not counted: money depends on it. */
function countAt(object: JsonObject, key: string): number | null {
  const value = object[key];
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, TURN_TOKENS_MAX) : null;
}

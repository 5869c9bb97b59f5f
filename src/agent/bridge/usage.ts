import { isObject, type JsonObject } from "../../core/json.ts";
import { TURN_TOKENS_MAX } from "../../core/limits.ts";
import { NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { UsageScope } from "../profile/profile.ts";

/**
 * What an agent tells of its tokens, put together from the places where it may tell it. ACP's draft
 * calls it the usage "for this turn" and its fields totals "across all turns"; adapters begin anew
 * with each prompt, and what an agent means its profile says. Of totals only what they have grown
 * by is counted, so that no token is paid for twice (P9).
 */
export class UsageMeter {
  readonly #scope: UsageScope;
  #used: number | null = null;
  #size: number | null = null;
  /** Of prompts of this turn that have been answered. */
  #counted: TokenUsage = NO_TOKENS;
  /** Of the prompt at work, as its updates have it so far. */
  #running: TokenUsage = NO_TOKENS;
  /** The session's totals when they were last told, as they were told. */
  #totals: Told = NOTHING;

  constructor(scope: UsageScope) {
    this.#scope = scope;
  }

  turnBegins() {
    this.#counted = NO_TOKENS;
    this.#running = NO_TOKENS;
  }

  /** A `usage_update`: how full the context is. Some agents add the tokens so far to it. */
  updated(update: JsonObject) {
    this.#used = countAt(update, "used");
    this.#size = countAt(update, "size");
    if (!isObject(update.usage)) return;
    const told = toldIn(update.usage);
    if (this.#scope === "session") this.#grown(told);
    else this.#running = eachOnce(told);
  }

  /**
   * What one model call took, as Qwen Code tells it: with an empty chunk at its end. An answer
   * that has a usage of its own counts in its place.
   */
  called(usage: JsonObject) {
    if (this.#scope === "turn") this.#running = sum(this.#running, eachOnce(toldIn(usage)));
  }

  /** The `usage` of a prompt's answer: what all of its model calls took together. */
  answered(usage: unknown): boolean {
    if (!isObject(usage)) {
      this.#counted = sum(this.#counted, this.#running);
      this.#running = NO_TOKENS;
      return false;
    }
    const told = toldIn(usage);
    if (this.#scope === "session") this.#grown(told);
    else this.#counted = sum(this.#counted, eachOnce(told));
    this.#running = NO_TOKENS;
    return true;
  }

  reading(model: string | null): ContextUsage {
    const tokens = sum(this.#counted, this.#running);
    return { model, used: this.#used, size: this.#size, tokens };
  }

  /**
   * Totals that have become less were begun anew. What stands in two kinds is taken out of what
   * they have grown by, and not out of them: else they would seem less where that is told anew.
   */
  #grown(told: Told) {
    const isMore = KEYS.every((key) => told.tokens[key] >= this.#totals.tokens[key]);
    const before = isMore ? this.#totals : NOTHING;
    this.#totals = told;
    const tokens = each((key) => told.tokens[key] - before.tokens[key]);
    const isKnown = told.total !== null && before.total !== null;
    const total = isKnown ? told.total - before.total : null;
    this.#counted = sum(this.#counted, eachOnce({ tokens, total }));
  }
}

/** What an agent says that it has used: of each kind, and all together if it says that. */
interface Told {
  readonly tokens: TokenUsage;
  readonly total: number | null;
}

const NOTHING: Told = { tokens: NO_TOKENS, total: 0 };

const KEYS = ["input", "output", "cachedRead", "cachedWrite", "thought"] as const;

function each(countOf: (key: keyof TokenUsage) => number): TokenUsage {
  return {
    input: countOf("input"),
    output: countOf("output"),
    cachedRead: countOf("cachedRead"),
    cachedWrite: countOf("cachedWrite"),
    thought: countOf("thought"),
  };
}

function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return each((key) => Math.min(one[key] + other[key], TURN_TOKENS_MAX));
}

function toldIn(usage: JsonObject): Told {
  const tokens = {
    input: countAt(usage, "inputTokens") ?? 0,
    output: countAt(usage, "outputTokens") ?? 0,
    cachedRead: countAt(usage, "cachedReadTokens") ?? 0,
    cachedWrite: countAt(usage, "cachedWriteTokens") ?? 0,
    thought: countAt(usage, "thoughtTokens") ?? 0,
  };
  return { tokens, total: countAt(usage, "totalTokens") };
}

/** What an agent may count a second time: thoughts as output, what was cached as input. */
const COUNTED_TWICE = [
  ["thought"],
  ["cachedRead"],
  ["cachedRead", "thought"],
  ["cachedRead", "cachedWrite"],
  ["cachedRead", "cachedWrite", "thought"],
] as const;

/**
 * The five kinds without what stands in two of them. Agents do not agree on that, and do not say
 * it either; but their total does, if it is less than the five together by just such a part. An
 * agent without a total is taken at its word, that each is for itself.
 */
function eachOnce({ tokens: told, total }: Told): TokenUsage {
  const surplus = KEYS.reduce((all, key) => all + told[key], 0) - (total ?? Number.NaN);
  const twice = COUNTED_TWICE.find(
    (kinds) => surplus > 0 && kinds.reduce((all, kind) => all + told[kind], 0) === surplus,
  );
  if (twice === undefined) return told;
  const thought = twice.some((kind) => kind === "thought") ? told.thought : 0;
  const [output, input] = [told.output - thought, told.input - (surplus - thought)];
  return output < 0 || input < 0 ? told : { ...told, output, input };
}

/** A count that is no count is not counted: money depends on it. */
function countAt(object: JsonObject, key: string): number | null {
  const value = object[key];
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? value : null;
}

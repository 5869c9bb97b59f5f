import { isObject, type JsonObject } from "../../core/json.ts";
import { TURN_TOKENS_MAX } from "../../core/limits.ts";
import { NO_TOKENS, type TokenUsage } from "../../core/price.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type { UsageScope } from "../profile/profile.ts";

/**
 * The tokens that an agent reports, collected from the messages in which it may report them. ACP's
 * draft calls it the usage "for this turn" and its fields totals "across all turns"; the profile
 * says which of the two an agent means. Of session totals only the growth counts, so that no token
 * is paid for twice (P9).
 */
export class UsageMeter {
  readonly #scope: UsageScope;
  #used: number | null = null;
  #size: number | null = null;
  /** The prompts of this turn that the agent has answered. */
  #counted: TokenUsage = NO_TOKENS;
  /** The running prompt, by its updates so far. */
  #running: TokenUsage = NO_TOKENS;
  /** The session's totals, as the agent last reported them. */
  #totals: ReportedUsage = NO_USAGE;

  constructor(scope: UsageScope) {
    this.#scope = scope;
  }

  turnBegins() {
    this.#counted = NO_TOKENS;
    this.#running = NO_TOKENS;
  }

  /** Takes a `usage_update`: how full the context is. Some agents add the tokens so far. */
  updated(update: JsonObject) {
    this.#used = countAt(update, "used");
    this.#size = countAt(update, "size");
    if (!isObject(update.usage)) return;
    const reported = readUsage(update.usage);
    if (this.#scope === "session") this.#grown(reported);
    else this.#running = eachOnce(reported);
  }

  /**
   * Takes the tokens of one model call, which Qwen Code reports with an empty chunk at its end. A
   * usage in the prompt's answer replaces them.
   */
  called(usage: JsonObject) {
    if (this.#scope === "turn") this.#running = sum(this.#running, eachOnce(readUsage(usage)));
  }

  /** Takes the `usage` of a prompt's answer: all of its model calls. False if it has none. */
  answered(usage: unknown): boolean {
    if (!isObject(usage)) {
      this.#counted = sum(this.#counted, this.#running);
      this.#running = NO_TOKENS;
      return false;
    }
    const reported = readUsage(usage);
    if (this.#scope === "session") this.#grown(reported);
    else this.#counted = sum(this.#counted, eachOnce(reported));
    this.#running = NO_TOKENS;
    return true;
  }

  reading(model: string | null): ContextUsage {
    const tokens = sum(this.#counted, this.#running);
    return { model, used: this.#used, size: this.#size, tokens };
  }

  /**
   * Smaller totals mean that the agent counts from zero again. Tokens counted in two kinds are
   * removed from the growth and not from the totals, which must stay comparable with the next.
   */
  #grown(reported: ReportedUsage) {
    const isMore = KEYS.every((key) => reported.tokens[key] >= this.#totals.tokens[key]);
    const before = isMore ? this.#totals : NO_USAGE;
    this.#totals = reported;
    const tokens = each((key) => reported.tokens[key] - before.tokens[key]);
    const isKnown = reported.total !== null && before.total !== null;
    const total = isKnown ? reported.total - before.total : null;
    this.#counted = sum(this.#counted, eachOnce({ tokens, total }));
  }
}

/** A usage as the agent reports it; `total` is null if it reports none. */
interface ReportedUsage {
  readonly tokens: TokenUsage;
  readonly total: number | null;
}

const NO_USAGE: ReportedUsage = { tokens: NO_TOKENS, total: 0 };

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

function readUsage(usage: JsonObject): ReportedUsage {
  const tokens = {
    input: countAt(usage, "inputTokens") ?? 0,
    output: countAt(usage, "outputTokens") ?? 0,
    cachedRead: countAt(usage, "cachedReadTokens") ?? 0,
    cachedWrite: countAt(usage, "cachedWriteTokens") ?? 0,
    thought: countAt(usage, "thoughtTokens") ?? 0,
  };
  return { tokens, total: countAt(usage, "totalTokens") };
}

/** What an agent may count twice: thoughts also as output, cached tokens also as input. */
const COUNTED_TWICE = [
  ["thought"],
  ["cachedRead"],
  ["cachedRead", "thought"],
  ["cachedRead", "cachedWrite"],
  ["cachedRead", "cachedWrite", "thought"],
] as const;

/**
 * The five kinds without what is counted in two of them. Agents differ in that and do not say so;
 * but their total shows it, if it is less than the five together by exactly such a part. Without a
 * total each kind is taken to stand for itself.
 */
function eachOnce({ tokens: reported, total }: ReportedUsage): TokenUsage {
  const surplus = KEYS.reduce((all, key) => all + reported[key], 0) - (total ?? Number.NaN);
  const twice = COUNTED_TWICE.find(
    (kinds) => surplus > 0 && kinds.reduce((all, kind) => all + reported[kind], 0) === surplus,
  );
  if (twice === undefined) return reported;
  const thought = twice.some((kind) => kind === "thought") ? reported.thought : 0;
  const [output, input] = [reported.output - thought, reported.input - (surplus - thought)];
  return output < 0 || input < 0 ? reported : { ...reported, output, input };
}

/** Null for what is not a whole number: credits depend on it. */
function countAt(object: JsonObject, key: string): number | null {
  const value = object[key];
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? value : null;
}

import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { NO_TOKENS, type TokenUsage } from "../../core/price.ts";

/** A usage as the agent reports it; `total` is null if it reports none. */
export interface ReportedUsage {
  readonly tokens: TokenUsage;
  readonly total: number | null;
  /** Why these are no figures: one is no count, or none has a known name. Null if they are. */
  readonly fault: string | null;
}

export const NO_USAGE: ReportedUsage = { tokens: NO_TOKENS, total: 0, fault: null };

export const TOKEN_KEYS = ["input", "output", "cachedRead", "cachedWrite", "thought"] as const;

/** The names of each figure: ACP's first, then those that agents have of their own. */
const NAMES = {
  input: ["inputTokens", "input_tokens"],
  output: ["outputTokens", "output_tokens"],
  cachedRead: ["cachedReadTokens", "cachedInputTokens", "cache_read_input_tokens"],
  cachedWrite: [
    ...["cachedWriteTokens", "cacheWriteInputTokens"],
    ...["cacheCreationTokens", "cache_creation_input_tokens"],
  ],
  thought: ["thoughtTokens", "reasoningOutputTokens", "reasoningTokens", "reasoning_tokens"],
  total: ["totalTokens", "total_tokens"],
} as const satisfies Record<keyof TokenUsage | "total", readonly string[]>;

export function readUsage(usage: JsonObject): ReportedUsage {
  const invalid: string[] = [];
  let known = 0;
  const figure = (kind: keyof typeof NAMES): number | null => {
    const name = NAMES[kind].find((one) => usage[one] !== undefined && usage[one] !== null);
    if (name === undefined) return null;
    if (kind !== "total") known += 1;
    const count = countAt(usage, name);
    if (count === null) invalid.push(name);
    return count;
  };
  const tokens = eachKind((kind) => figure(kind) ?? 0);
  const total = figure("total");
  const none = known === 0 ? "no figure of a known name" : null;
  const fault = invalid.length > 0 ? `no whole number: ${invalid.join(", ")}` : none;
  return { tokens, total, fault };
}

export function eachKind(countOf: (kind: keyof TokenUsage) => number): TokenUsage {
  return {
    input: countOf("input"),
    output: countOf("output"),
    cachedRead: countOf("cachedRead"),
    cachedWrite: countOf("cachedWrite"),
    thought: countOf("thought"),
  };
}

/** What the answer to a prompt says of its tokens, and of the model that took them. */
export interface AnsweredUsage {
  /** Null if it says nothing. */
  readonly usage: ReportedUsage | null;
  readonly model: string | null;
}

/**
 * ACP's `usage`; or `_meta.usage`, as Grok has it; or `_meta.quota.token_count`, as Gemini CLI has
 * it. Claude and Codex have a quota beside their usage, with the same figures.
 */
export function readAnswer(answer: JsonObject): AnsweredUsage {
  const meta = objectAt(answer, "_meta") ?? {};
  const quota = objectAt(meta, "quota") ?? {};
  const found =
    objectAt(answer, "usage") ?? objectAt(meta, "usage") ?? objectAt(quota, "token_count");
  const model = quotaModel(quota) ?? stringAt(meta, "modelId");
  return { usage: found && readUsage(found), model };
}

/** The model that took the most; an agent may use a small one for side work. */
function quotaModel(quota: JsonObject): string | null {
  const { model_usage: list } = quota;
  const rows = Array.isArray(list) ? list.filter(isObject) : [];
  const named = rows.map((row) => {
    const { tokens } = readUsage(objectAt(row, "token_count") ?? {});
    const all = TOKEN_KEYS.reduce((sum, kind) => sum + tokens[kind], 0);
    return { model: stringAt(row, "model"), all };
  });
  const [most] = named.toSorted((a, b) => b.all - a.all);
  return most?.model ?? null;
}

/** The model that an update names: Claude does so beside its cost. */
export function modelOfUpdate(update: JsonObject): string | null {
  return stringAt(objectAt(update, "_meta") ?? {}, "_claude/model");
}

/** A cost in whole micro-credits; or what is wrong with it. */
export type ReportedCost =
  | { readonly micro: number }
  | { readonly fault: "invalid" | "currency"; readonly said: string };

const MICRO_PER_CREDIT = 1_000_000;

/** One US dollar is one credit. Other currencies have no rate here. */
export function readCost(cost: JsonObject): ReportedCost {
  const { amount, currency } = cost;
  const said = `${JSON.stringify(amount)} ${JSON.stringify(currency)}`;
  if (typeof amount !== "number" || !Number.isFinite(amount)) return { fault: "invalid", said };
  if (typeof currency !== "string" || currency.toUpperCase() !== "USD") {
    return { fault: "currency", said };
  }
  const micro = Math.round(amount * MICRO_PER_CREDIT);
  const isAmount = micro >= 0 && micro <= MICRO_CREDITS_MAX;
  return isAmount ? { micro } : { fault: "invalid", said };
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
export function eachOnce({ tokens: reported, total }: ReportedUsage): TokenUsage {
  const surplus = TOKEN_KEYS.reduce((all, key) => all + reported[key], 0) - (total ?? Number.NaN);
  const twice = COUNTED_TWICE.find(
    (kinds) => surplus > 0 && kinds.reduce((all, kind) => all + reported[kind], 0) === surplus,
  );
  if (twice === undefined) return reported;
  const thought = twice.some((kind) => kind === "thought") ? reported.thought : 0;
  const [output, input] = [reported.output - thought, reported.input - (surplus - thought)];
  return output < 0 || input < 0 ? reported : { ...reported, output, input };
}

/** Null for what is not a whole number: credits depend on it. */
export function countAt(object: JsonObject, key: string): number | null {
  const value = object[key];
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? value : null;
}

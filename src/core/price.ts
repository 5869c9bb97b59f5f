import { MICRO_CREDITS_MAX, PRICE_MICRO_MAX, TURN_TOKENS_MAX } from "./limits.ts";

/** Tokens of one turn, or of many added up. Zero is what an agent that says nothing reports. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
  readonly thought: number;
}

/** Micro-credits per million tokens of each kind, and once per turn. */
export interface Price extends TokenUsage {
  readonly perTurn: number;
}

export const NO_TOKENS: TokenUsage = {
  input: 0,
  output: 0,
  cachedRead: 0,
  cachedWrite: 0,
  thought: 0,
};

const TOKEN_KINDS = ["input", "output", "cachedRead", "cachedWrite", "thought"] as const;
const TOKENS_PER_PRICE = 1_000_000n;

/**
 * What a turn has cost so far, in whole micro-credits, rounded up once at the end. An unknown
 * price costs nothing here; whether it may be used at all is decided before the turn begins.
 */
export function costMicro(price: Price | null, tokens: TokenUsage): number {
  if (price === null) return 0;
  let scaled = BigInt(price.perTurn) * TOKENS_PER_PRICE;
  for (const kind of TOKEN_KINDS) scaled += BigInt(price[kind]) * BigInt(tokens[kind]);
  const micro = (scaled + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE;
  return micro > BigInt(MICRO_CREDITS_MAX) ? MICRO_CREDITS_MAX : Number(micro);
}

export function addTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: addCounts(a.input, b.input),
    output: addCounts(a.output, b.output),
    cachedRead: addCounts(a.cachedRead, b.cachedRead),
    cachedWrite: addCounts(a.cachedWrite, b.cachedWrite),
    thought: addCounts(a.thought, b.thought),
  };
}

/** A total stops at its limit, so that a sum of counts is a count, however much agents claim. */
export function addCounts(a: number, b: number): number {
  return Math.min(a + b, MICRO_CREDITS_MAX);
}

/** What a turn has used so far: an agent's later report never takes back an earlier one. */
export function mostTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input: Math.max(a.input, b.input),
    output: Math.max(a.output, b.output),
    cachedRead: Math.max(a.cachedRead, b.cachedRead),
    cachedWrite: Math.max(a.cachedWrite, b.cachedWrite),
    thought: Math.max(a.thought, b.thought),
  };
}

/** Counts from outside are believed only if one turn can have used so many. */
export function isTokenUsage(tokens: TokenUsage): boolean {
  return TOKEN_KINDS.every((kind) => isCount(tokens[kind], TURN_TOKENS_MAX));
}

export function isPrice(price: Price): boolean {
  const kinds = [...TOKEN_KINDS, "perTurn"] as const;
  return kinds.every((kind) => isCount(price[kind], PRICE_MICRO_MAX));
}

/** A whole number from zero to a limit; money and tokens are nothing else. */
export function isCount(value: number, max: number = MICRO_CREDITS_MAX): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= max;
}

import type { PriceFile } from "./price-table.ts";

/**
 * What models cost where nobody says otherwise: one credit is one US dollar, so these are
 * micro-dollars per million tokens. They are list prices as they were known when this was written,
 * and they change: `--prices FILE` has the last word.
 */
export const DEFAULT_PRICES: PriceFile = {
  models: {
    "claude-opus-4-5": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-1": model(15_000_000, 75_000_000, 1_500_000, 18_750_000),
    "claude-sonnet-4-5": model(3_000_000, 15_000_000, 300_000, 3_750_000),
    "claude-haiku-4-5": model(1_000_000, 5_000_000, 100_000, 1_250_000),
    "gpt-5": model(1_250_000, 10_000_000, 125_000),
    "gpt-5-mini": model(250_000, 2_000_000, 25_000),
    "gpt-5-nano": model(50_000, 400_000, 5_000),
    "gpt-4.1": model(2_000_000, 8_000_000, 500_000),
    "gpt-4.1-mini": model(400_000, 1_600_000, 100_000),
    "gpt-4o": model(2_500_000, 10_000_000, 1_250_000),
    "gpt-4o-mini": model(150_000, 600_000, 75_000),
    "gemini-2.5-pro": model(1_250_000, 10_000_000, 310_000),
    "gemini-2.5-flash": model(300_000, 2_500_000, 75_000),
  },
  // `echo` is a toy, and asks nobody.
  agents: { echo: { perTurn: 0 } },
};

/** What a model has thought is paid like what it has said; writing a cache is input elsewhere. */
function model(input: number, output: number, cachedRead: number, cachedWrite = input) {
  return { input, output, cachedRead, cachedWrite, thought: output };
}

import type { PriceFile } from "./price-file.ts";

/**
 * What models cost by default: one credit is one US dollar, so these are micro-dollars per million
 * tokens, without surcharges for long prompts. They are list prices and they change: a file of
 * `--prices` overrides them, or replaces them all.
 */
export const DEFAULT_PRICES: PriceFile = {
  asOf: "2026-11-16",
  source:
    "list prices of platform.claude.com, developers.openai.com and ai.google.dev, as public " +
    "pages quoted them between May and November 2026",
  models: {
    "claude-fable-5-1": model(10_000_000, 50_000_000, 250_000, 12_500_000),
    "claude-fable-5": model(10_000_000, 50_000_000, 1_000_000, 12_500_000),
    "claude-opus-5-5": model(4_000_000, 20_000_000, 400_000, 5_000_000),
    "claude-opus-5": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-8": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-7": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-6": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-5": model(5_000_000, 25_000_000, 500_000, 6_250_000),
    "claude-opus-4-1": model(15_000_000, 75_000_000, 1_500_000, 18_750_000),
    "claude-sonnet-5-5": model(2_000_000, 10_000_000, 100_000, 2_500_000),
    "claude-sonnet-5": model(2_000_000, 10_000_000, 200_000, 2_500_000),
    "claude-sonnet-4-6": model(3_000_000, 15_000_000, 300_000, 3_750_000),
    "claude-sonnet-4-5": model(3_000_000, 15_000_000, 300_000, 3_750_000),
    "claude-haiku-5-5": model(100_000, 500_000, 10_000, 125_000),
    "claude-haiku-4-5": model(1_000_000, 5_000_000, 100_000, 1_250_000),
    "gpt-6.1-sol": model(2_000_000, 10_000_000, 100_000, 2_500_000),
    "gpt-6-astra": model(10_000_000, 50_000_000, 1_000_000, 12_500_000),
    "gpt-6-sol": model(2_000_000, 10_000_000, 200_000, 2_500_000),
    "gpt-6-luna": model(100_000, 500_000, 10_000, 125_000),
    "gpt-5.6-sol": model(4_000_000, 20_000_000, 400_000),
    "gpt-5.5": model(5_000_000, 30_000_000, 500_000),
    "gpt-5.4": model(2_500_000, 15_000_000, 250_000),
    "gpt-5.4-mini": model(750_000, 4_500_000, 75_000),
    "gpt-5.4-nano": model(200_000, 1_250_000, 20_000),
    "gpt-5.3-codex": model(1_750_000, 14_000_000, 175_000),
    "gpt-5.2": model(1_750_000, 14_000_000, 175_000),
    "gpt-5.2-codex": model(1_750_000, 14_000_000, 175_000),
    "gpt-5.1": model(1_250_000, 10_000_000, 125_000),
    "gpt-5.1-codex*": model(1_250_000, 10_000_000, 125_000),
    "gpt-5": model(1_250_000, 10_000_000, 125_000),
    "gpt-5-codex": model(1_250_000, 10_000_000, 125_000),
    "gpt-5-mini": model(250_000, 2_000_000, 25_000),
    "gpt-5-nano": model(50_000, 400_000, 5_000),
    "gpt-4.1": model(2_000_000, 8_000_000, 500_000),
    "gpt-4.1-mini": model(400_000, 1_600_000, 100_000),
    "gpt-4o": model(2_500_000, 10_000_000, 1_250_000),
    "gpt-4o-mini": model(150_000, 600_000, 75_000),
    "gemini-3.5-flash": model(1_500_000, 9_000_000, 150_000),
    "gemini-3.1-pro*": model(2_000_000, 12_000_000, 200_000),
    "gemini-3-pro*": model(2_000_000, 12_000_000, 200_000),
    "gemini-3-flash*": model(500_000, 3_000_000, 50_000),
    "gemini-2.5-pro": model(1_250_000, 10_000_000, 310_000),
    "gemini-2.5-flash": model(300_000, 2_500_000, 75_000),
    "gemini-2.5-flash-lite": model(100_000, 400_000, 25_000),
  },
  // `echo` is built in, and asks no model.
  agents: { echo: { perTurn: 0 } },
};

/** What a model has thought is paid like what it has said; writing a cache is input elsewhere. */
function model(input: number, output: number, cachedRead: number, cachedWrite = input) {
  return { input, output, cachedRead, cachedWrite, thought: output };
}

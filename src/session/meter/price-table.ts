import { z } from "zod";
import { MICRO_CREDITS_MAX, PRICE_MICRO_MAX, PRICES_MAX } from "../../core/limits.ts";
import { costMicro, NO_TOKENS, type Price } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";

const amount = z.int().min(0).max(PRICE_MICRO_MAX).optional();

const priceRow = z
  .strictObject({
    input: amount,
    output: amount,
    cachedRead: amount,
    cachedWrite: amount,
    thought: amount,
    perTurn: amount,
    /** What is set aside for a turn when it begins, in place of what we would guess. */
    reserve: z.int().min(0).max(MICRO_CREDITS_MAX).optional(),
  })
  // Nothing is free by being forgotten: these two stand for all the other kinds.
  .refine(({ input, output }) => (input === undefined) === (output === undefined), {
    error: "a row has both input and output, or neither; 0 is free",
  })
  .refine(({ input, perTurn }) => input !== undefined || perTurn !== undefined, {
    error: "a row has input and output, or perTurn; 0 is free",
  });

const rows = z.record(z.string(), priceRow).refine((all) => Object.keys(all).length <= PRICES_MAX, {
  error: `there are at most ${PRICES_MAX} prices`,
});

/** Prices by model; and by agent, for those that do not say which model they use. */
const priceFile = z.strictObject({ models: rows.optional(), agents: rows.optional() });

export type PriceFile = z.input<typeof priceFile>;
type PriceRow = z.output<typeof priceRow>;

/** What a turn costs, and what is set aside for it when it begins. */
export interface Quote {
  readonly price: Price;
  readonly estimateMicro: number;
}

/** Reads a price file; what it names replaces the whole row that there was. */
export function readPrices(text: string): Result<PriceTable> {
  try {
    const read = priceFile.safeParse(JSON.parse(text));
    if (read.success) return ok(new PriceTable(read.data));
    const [issue] = read.error.issues;
    return fail("invalid_server_config", {
      path: `--prices ${issue?.path.join(".") ?? ""}`.trim(),
      reason: issue?.message ?? "it is not valid",
    });
  } catch {
    return fail("invalid_server_config", { path: "--prices", reason: "the file is no JSON" });
  }
}

/** What models and agents cost. */
export class PriceTable {
  readonly #models: ReadonlyMap<string, PriceRow>;
  readonly #agents: ReadonlyMap<string, PriceRow>;

  constructor(own: PriceFile = {}) {
    this.#models = new Map(Object.entries({ ...DEFAULT_PRICES.models, ...own.models }));
    this.#agents = new Map(Object.entries({ ...DEFAULT_PRICES.agents, ...own.agents }));
  }

  /** By the model as it is called, or without the date behind its name, or by the agent. */
  quote(agent: string, model: string | null): Quote | null {
    const named = model === null ? undefined : this.#models.get(model);
    const undated = model === null ? undefined : this.#models.get(model.replace(DATE, ""));
    const row = named ?? undated ?? this.#agents.get(agent);
    if (row === undefined) return null;
    const price = priceOf(row);
    return { price, estimateMicro: Math.max(row.reserve ?? estimateOf(price), price.perTurn) };
  }
}

/** As in `claude-sonnet-4-5-20250929` or `gpt-4o-2024-08-06`. */
const DATE = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

/**
 * What a row does not say is not free: the cache costs as much as input, and thought as much as
 * output. No token is paid for twice by that, since usage tells the five kinds apart.
 */
function priceOf(row: PriceRow): Price {
  const { input = 0, output = 0, perTurn = 0 } = row;
  const { cachedRead = input, cachedWrite = input, thought = output } = row;
  return { input, output, cachedRead, cachedWrite, thought, perTurn };
}

/** A turn as it often is: much is read, little is said. */
const USUAL_TURN = { ...NO_TOKENS, input: 50_000, output: 4_000 };

/** What is set aside for a turn where the price does not say. */
export function estimateOf(price: Price): number {
  return costMicro(price, USUAL_TURN);
}

/**
 * What models cost by default: one credit is one US dollar, so these are
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
  // `echo` is built in, and asks no model.
  agents: { echo: { perTurn: 0 } },
};

/** What a model has thought is paid like what it has said; writing a cache is input elsewhere. */
function model(input: number, output: number, cachedRead: number, cachedWrite = input) {
  return { input, output, cachedRead, cachedWrite, thought: output };
}

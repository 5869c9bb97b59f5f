import { z } from "zod";
import {
  AGENT_NAME_CHARS_MAX,
  MICRO_CREDITS_MAX,
  PRICE_MICRO_MAX,
  PRICES_MAX,
} from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parseJson } from "../../wire/operator-json.ts";
import { type ModelAliases, PriceTable } from "./price-table.ts";

/** Loaded only for a server that has such a file. */
const SOURCE_CHARS_MAX = 512;

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

const name = z.string().min(1).max(AGENT_NAME_CHARS_MAX);
const rows = z.record(name, priceRow).refine((all) => Object.keys(all).length <= PRICES_MAX, {
  error: `there are at most ${PRICES_MAX} prices`,
});

/** Prices by model; and by agent, for those that do not say which model they use. */
const priceFile = z.strictObject({
  /** The day on which they were read, and where. */
  asOf: z.iso.date({ error: "a day, as in 2026-11-16" }).optional(),
  source: z.string().min(1).max(SOURCE_CHARS_MAX).optional(),
  /** False if the file replaces the default prices, and does not only override some. */
  defaults: z.boolean().optional(),
  models: rows.optional(),
  agents: rows.optional(),
});

export type PriceFile = z.input<typeof priceFile>;
export type PriceRow = z.output<typeof priceRow>;

/** Reads a price file; what it names replaces the whole row that there was. */
export function readPrices(text: string, aliases?: ModelAliases): Result<PriceTable> {
  const { value, fault } = parseJson(text);
  if (fault !== undefined) {
    return fail("invalid_server_config", { path: "--prices", reason: `in the file, ${fault}` });
  }
  const read = priceFile.safeParse(value);
  if (read.success) return ok(new PriceTable(read.data, aliases));
  const [issue] = read.error.issues;
  return fail("invalid_server_config", {
    path: `--prices ${issue?.path.join(".") ?? ""}`.trim(),
    reason: issue?.message ?? "it is not valid",
  });
}

import type { Latencies } from "../trial.ts";
import type { RowId } from "./rows.ts";

/** What was measured for one row of one server. */
export interface Measured {
  /** As the row names them. */
  readonly figures: readonly number[];
  /** How many samples they are of. */
  readonly n: number;
  /** Of times: each fortieth part of them, from the shortest to the longest, in ms. */
  readonly spread?: readonly number[];
}

export type Findings = Partial<Record<RowId, Measured>>;

const SPREAD_STEPS = 40;
const SPREAD = Array.from({ length: SPREAD_STEPS + 1 }, (_, step) => step / SPREAD_STEPS);

export function timesOf(latencies: Latencies, shares: readonly number[]): Measured {
  const figures = latencies.quantiles(shares).map(rounded);
  return { figures, n: latencies.count, spread: latencies.quantiles(SPREAD).map(rounded) };
}

/** Four digits are more than any of these figures is good for. */
export function rounded(figure: number): number {
  return Number(figure.toPrecision(4));
}

export const P50 = [0.5];
export const P50_P99 = [0.5, 0.99];

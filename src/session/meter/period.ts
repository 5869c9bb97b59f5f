/** From this time on, and before that one. */
export interface Period {
  readonly fromMs: number;
  readonly beforeMs: number;
}

export const ALL_TIME: Period = { fromMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };

export function isWithin({ fromMs, beforeMs }: Period, atMs: number): boolean {
  return atMs >= fromMs && atMs < beforeMs;
}

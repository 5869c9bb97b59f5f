/**
 * A calendar month in UTC, counted from the year 0: months are compared and counted on as whole
 * numbers. The month of a time is a matter of that time alone, so the same journal has the same
 * months on every machine.
 */
export type Month = number;

/** The first and the last time that a date can have. */
const DATE_MS_MAX = 8_640_000_000_000_000;

export function monthOf(atMs: number): Month {
  const date = new Date(Math.min(DATE_MS_MAX, Math.max(-DATE_MS_MAX, atMs)));
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** When the next month begins, and a budget of this one is renewed. */
export function monthEndMs(month: Month): number {
  const start = new Date(0);
  start.setUTCFullYear(Math.floor((month + 1) / 12), (month + 1) % 12, 1);
  const endMs = start.getTime();
  return Number.isNaN(endMs) ? DATE_MS_MAX : endMs;
}

/** The month as in `2026-11`. */
export function monthName(month: Month): string {
  const year = String(Math.floor(month / 12)).padStart(4, "0");
  return `${year}-${String((month % 12) + 1).padStart(2, "0")}`;
}

/** The time at which a budget of this month is renewed, as text. */
export function renewalOf(month: Month): string {
  return new Date(monthEndMs(month)).toISOString();
}

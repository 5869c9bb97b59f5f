/**
 * A calendar month in UTC, counted from the year 0: months are compared and counted on as whole
 * numbers. The month of a time is a matter of that time alone, so the same journal has the same
 * months on every machine.
 */
export type Month = number;

const DAY_MS = 86_400_000;

/** Months are named with four digits of a year: a time before or after these counts with them. */
const FIRST_MONTH = 0;
const LAST_MONTH = 9_999 * 12 + 10;

export function monthOf(atMs: number): Month {
  const days = Math.floor(atMs / DAY_MS);
  // The years of the calendar have 365.2425 days on average, so this is off by one at most.
  let month = Math.floor((days / 365.2425 + 1970) * 12);
  month = Math.min(LAST_MONTH, Math.max(FIRST_MONTH, month));
  while (month < LAST_MONTH && days >= firstDayOf(month + 1)) month += 1;
  while (month > FIRST_MONTH && days < firstDayOf(month)) month -= 1;
  return month;
}

/** When the next month begins, and a budget of this one is renewed. */
export function monthEndMs(month: Month): number {
  return firstDayOf(month + 1) * DAY_MS;
}

/** The month as in `2026-11`. */
export function monthName(month: Month): string {
  const year = String(Math.floor(month / 12)).padStart(4, "0");
  return `${year}-${String((month % 12) + 1).padStart(2, "0")}`;
}

/** The time at which a budget of this month is renewed, as text. */
export function renewalOf(month: Month): string {
  return `${monthName(month + 1)}-01T00:00:00.000Z`;
}

/** How many days after the first of January 1970 a month begins, by the Gregorian calendar. */
function firstDayOf(month: Month): number {
  // A year that begins in March has its leap day at its end.
  const fromMarch = month - 2;
  const year = Math.floor(fromMarch / 12);
  const inYear = fromMarch - year * 12;
  const leapDays = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  const daysBefore = Math.floor((153 * inYear + 2) / 5);
  return year * 365 + leapDays + daysBefore - DAYS_TO_1970;
}

/** Days from the first of March of the year 0 to the first of January 1970. */
const DAYS_TO_1970 = 719_468;

import { z } from "zod";

const MILLISECONDS = /^\d{1,15}$/;
const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A day, or a moment of one, in universal time where it does not say; or milliseconds. */
export const moment = z.string().transform((text, context): number => {
  const ms = msOf(text);
  if (!Number.isNaN(ms)) return ms;
  const message = "it is a time, as in 2026-05-01 or 2026-05-01T12:00Z, or milliseconds";
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

function msOf(text: string): number {
  if (MILLISECONDS.test(text)) return Number(text);
  // A plus that nobody has encoded arrives as a space.
  const time = text.replace(/ (?=\d{2}:\d{2}$)/, "+");
  if (!DAY_OR_TIME.test(time) || !isDay(time.slice(0, 10))) return Number.NaN;
  // Left alone, a time without a zone would be that of wherever this machine is.
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
}

/** Left alone, 31 February would be 3 March. */
function isDay(day: string): boolean {
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

import { cutText } from "../text.ts";

/** Nobody's file or typing moves a cursor, rings a bell, begins a line or turns one around. */
const UNSHOWN = /[\s\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** How much of a text is looked at for the sake of a line; the rest would be cut anyway. */
const LOOKED_AT = 4;

/** A foreign text as part of one line in a terminal, not longer than it may be. */
export function oneLine(text: string, charsMax: number): string {
  const seen = cutText(text, LOOKED_AT * charsMax);
  const line = seen.toWellFormed().replace(UNSHOWN, " ").trim();
  const isWhole = line.length <= charsMax && seen.length === text.length;
  return isWhole ? line : `${cutText(line, charsMax - 1)}…`;
}

/** The beginning of a text of many lines, with a word about what is missing. */
export function bounded(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text.toWellFormed();
  const note = `\n… (the beginning of ${text.length} characters)`;
  return cutText(text, charsMax - note.length).toWellFormed() + note;
}

import { SPELLING_CHARS_MAX, SPELLING_EDITS_MAX } from "./limits.ts";

/**
 * How many letters have to be added, left out, replaced or swapped with their neighbour to make one
 * word of the other. Infinite for words too long to be a name of ours: the work grows with both.
 */
export function editDistance(one: string, other: string): number {
  if (one === other) return 0;
  if (Math.max(one.length, other.length) > SPELLING_CHARS_MAX) return Number.POSITIVE_INFINITY;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next: number[] = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwapped = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      next[at] = Math.min(
        cell(last, at) + 1,
        cell(next, at - 1) + 1,
        cell(last, at - 1) + (isSame ? 0 : 1),
        isSwapped ? cell(beforeLast, at - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = next;
  }
  return cell(last, other.length);
}

function cell(row: readonly number[], at: number): number {
  return row[at] ?? Number.POSITIVE_INFINITY;
}

/**
 * The known name that a mistyped one most likely means, or null if none is near. Capitals, dashes
 * and underscores do not count. Of a short name at least half has to be right: else `role` would
 * mean `mode`.
 */
export function nearestName(typed: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let least = SPELLING_EDITS_MAX + 1;
  for (const name of known) {
    const letters = lettersOf(name);
    const edits = editDistance(lettersOf(typed), letters);
    if (edits >= least || 2 * edits >= letters.length) continue;
    nearest = name;
    least = edits;
  }
  return nearest;
}

/** The question which name was meant, in brackets after a space; empty if none is near. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const meant = nearestName(typed, known);
  return meant === null ? "" : ` (did you mean "${meant}"?)`;
}

function lettersOf(name: string): string {
  if (name.length > 2 * SPELLING_CHARS_MAX) return name;
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

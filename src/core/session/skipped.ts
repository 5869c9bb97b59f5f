import { SKIPPED_LISTED_MAX } from "../limits.ts";
import type { Skipped } from "./event.ts";

/** What people and events are told of what was skipped: the first ones, and how many more. */
export function listedSkipped(all: readonly Skipped[]): readonly Skipped[] {
  if (all.length <= SKIPPED_LISTED_MAX) return all;
  const shown = all.slice(0, SKIPPED_LISTED_MAX - 1);
  const name = `and ${all.length - shown.length} more`;
  return [...shown, { name, reason: `the list ends with its ${SKIPPED_LISTED_MAX}th line` }];
}

import type { Declaration } from "./declaration.ts";
import { groupedStages, isAlwaysMet, nextInFile, nextOf } from "./plan.ts";

/** One stage may follow another. */
export interface Step {
  readonly from: string;
  readonly to: string;
  /** How often it may be taken has a bound. */
  readonly isBounded: boolean;
}

/**
 * All steps of a declared workflow. Those of a parallel group stand one after the other: none of
 * them can be passed by on the way to the join.
 */
export function stepsOf(declared: Declaration): readonly Step[] {
  const grouped = groupedStages(declared);
  return declared.stages.flatMap(({ id, next }) => {
    if (grouped.has(id)) return [];
    const steps = next.flatMap((rule) => {
      const following = nextOf(rule);
      if (following.kind === "pause") return [];
      const join = following.kind === "parallel" ? following.join : undefined;
      const line = [id, ...following.stages, ...(join === undefined ? [] : [join])];
      return lineOf(line, rule.atMost !== null);
    });
    if (next.some(isAlwaysMet)) return steps;
    const following = nextInFile(declared, id);
    const line = following.kind === "sequential" ? [id, ...following.stages] : [id];
    return [...steps, ...lineOf(line, false)];
  });
}

function lineOf(stages: readonly string[], isBounded: boolean): readonly Step[] {
  return stages.slice(1).map((to, at) => ({ from: stages[at] ?? "", to, isBounded }));
}

/** All stages that can be reached from one, itself included, without passing by another. */
export function reachable(
  steps: readonly Step[],
  from: string,
  without: string | null,
): ReadonlySet<string> {
  const found = new Set<string>(from === without ? [] : [from]);
  // A set goes on over what is added to it meanwhile.
  for (const stage of found) {
    for (const step of steps) if (step.from === stage && step.to !== without) found.add(step.to);
  }
  return found;
}

/** A way from a stage back to itself without any bound, that stage first; null if there is none. */
export function endlessPath(steps: readonly Step[], stage: string): readonly string[] | null {
  const unbounded = steps.filter(({ isBounded }) => !isBounded);
  const before = new Map<string, string>();
  const found = new Set<string>([stage]);
  for (const from of found) {
    for (const step of unbounded) {
      if (step.from !== from) continue;
      if (step.to === stage) return wayTo(from, before, stage);
      if (!found.has(step.to)) before.set(step.to, from);
      found.add(step.to);
    }
  }
  return null;
}

function wayTo(last: string, before: ReadonlyMap<string, string>, first: string) {
  const way: string[] = [first];
  for (let at = last; at !== first; at = before.get(at) ?? first) way.unshift(at);
  return [first, ...way];
}

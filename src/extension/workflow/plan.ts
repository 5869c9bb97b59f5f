import type { Next, PlanPath, StagePlan, WorkflowPlan } from "./contract.ts";
import type { Declaration, DeclaredStage, NextRule } from "./declaration.ts";
import { wordsOf } from "./rule.ts";

/** What a rule leads to instead of a stage. */
export const END = "end";

/** Of what a declared workflow keeps: how its commands went. */
const SLOT_VERSION = 1;

/** A declared workflow as data for those who run it. */
export function planOf(declared: Declaration): WorkflowPlan {
  const { name, description, input, stages } = declared;
  return {
    ...{ name, description, input, slotVersion: SLOT_VERSION },
    entry: declared.entry ?? stages[0]?.id ?? "",
    stages: stages.map(stagePlan),
    paths: pathsOf(declared),
  };
}

function stagePlan(stage: DeclaredStage): StagePlan {
  const { id, name, gate: _, assert: __, next: ___, ...plan } = stage;
  return { ...plan, id, name: name ?? id };
}

/** What a rule of a declared workflow leads to; places in a reason are still to be filled. */
export function nextOf({ to, parallel, join, pause }: NextRule): Next {
  if (parallel !== null) {
    return { kind: "parallel", stages: parallel, ...(join !== null && { join }) };
  }
  if (pause !== null) return { kind: "pause", reason: pause };
  const stages = to === null || to === END ? [] : [to].flat();
  return { kind: "sequential", stages };
}

/** What follows a stage if none of its rules does. */
export function nextInFile(declared: Declaration, stageId: string): Next {
  const { stages } = declared;
  const at = stages.findIndex(({ id }) => id === stageId);
  const grouped = groupedStages(declared);
  const next = stages.slice(at + 1).find(({ id }) => !grouped.has(id));
  return { kind: "sequential", stages: next === undefined ? [] : [next.id] };
}

/** The stages of all parallel groups: they are no part of the order of the file. */
export function groupedStages({ stages }: Declaration): ReadonlySet<string> {
  return new Set(stages.flatMap(({ next }) => next.flatMap(({ parallel }) => parallel ?? [])));
}

/** Whether a rule is met in all cases, so that none after it is. */
export function isAlwaysMet({ when, atMost }: NextRule): boolean {
  return atMost === null && Object.keys(when).length === 0;
}

function pathsOf(declared: Declaration): readonly PlanPath[] {
  const grouped = groupedStages(declared);
  return declared.stages.flatMap(({ id: from, next }) => {
    if (grouped.has(from)) return [];
    const ruled = next.map((rule) => ({ from, next: nextOf(rule), when: whenOf(rule) }));
    const isDecided = next.some(isAlwaysMet);
    return isDecided ? ruled : [...ruled, { from, next: nextInFile(declared, from), when: "" }];
  });
}

function whenOf({ when, atMost }: NextRule): string {
  const bound = atMost === null ? "" : atMost === 1 ? "once" : `at most ${atMost} times`;
  return [wordsOf(when), bound].filter(Boolean).join(", ");
}

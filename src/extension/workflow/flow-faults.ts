import { objectAt } from "../../core/json.ts";
import { didYouMean } from "../../core/spelling.ts";
import { placeholdersIn } from "../../core/workflow/render.ts";
import { valueFault } from "../schema.ts";
import type { Declaration, DeclaredStage, NextRule, RuleCondition } from "./declaration.ts";
import { endlessPath, reachable, stepsOf } from "./flow.ts";
import { END, groupedStages, isAlwaysMet } from "./plan.ts";
import { fieldReason, unknownStage, type WorkflowFault, written } from "./plan-faults.ts";
import { valuesOf } from "./rule.ts";

/** All that is wrong with the rules of a declared workflow: what they look at, and lead to. */
export function flowFaults(declared: Declaration): readonly WorkflowFault[] {
  const found = declared.stages.flatMap((stage, at) => {
    const inStage = ["stages", String(at)];
    return [
      ...stage.gate.flatMap((rule, index) => {
        const path = [...inStage, "gate", String(index), "when"];
        return conditionFaults(rule.when, GATE_FACTS, path, stage, declared);
      }),
      ...stage.assert.flatMap((rule, index) => {
        const path = [...inStage, "assert", String(index), "when"];
        return conditionFaults(rule.when, ASSERT_FACTS, path, stage, declared);
      }),
      ...nextFaults(stage, inStage, declared),
    ];
  });
  // Where a rule leads nowhere, what follows from the others is not known.
  return found.length > 0 ? found : wayFaults(declared);
}

const GATE_FACTS = ["input", "attempt", "ctx", "results", "visits"];
const ASSERT_FACTS = [...GATE_FACTS, "result", "capHit"];
const NEXT_FACTS = [...GATE_FACTS, "result", "outcome"];
const OUTCOMES = ["ok", "skipped", "failed"];

function conditionFaults(
  when: RuleCondition,
  roots: readonly string[],
  above: readonly string[],
  stage: DeclaredStage,
  { stages }: Declaration,
): readonly WorkflowFault[] {
  return Object.entries(when).flatMap(([key, wanted]) => {
    const path = [...above, key];
    const [root = "", ...inner] = key.split(".");
    if (!roots.includes(root)) {
      const reason = `nothing is called "${root}" here${didYouMean(root, roots)}`;
      return [{ path, reason, remedy: `begin with one of these: ${roots.join(", ")}` }];
    }
    if (root === "outcome") {
      const wrong = valuesOf(wanted).find((one) => !OUTCOMES.some((known) => known === one));
      if (wrong === undefined) return [];
      const reason = `no stage ends as ${JSON.stringify(wrong)}`;
      return [{ path, reason, remedy: `take one of these: ${OUTCOMES.join(", ")}` }];
    }
    if (root === "result") return resultFaults(inner, wanted, path, stage);
    if (root !== "results" && root !== "visits") return [];
    const [name = "", ...field] = inner;
    const other = stages.find(({ id }) => id === name);
    if (other === undefined) {
      return [
        {
          path,
          ...unknownStage(
            name,
            stages.map(({ id }) => id),
          ),
        },
      ];
    }
    return root === "results" ? resultFaults(field, wanted, path, other) : [];
  });
}

/** A condition on a field that the completion does not have, or on a value that it cannot have. */
function resultFaults(
  [field]: readonly string[],
  wanted: RuleCondition[string],
  path: readonly string[],
  { id, completion }: DeclaredStage,
): readonly WorkflowFault[] {
  if (field === undefined) return [];
  if (completion === null) {
    const reason = `the stage "${id}" has no completion, so its result is a text`;
    return [{ path, reason, remedy: "give that stage a completion with this field" }];
  }
  const unknown = fieldReason(completion.schema, field);
  if (unknown !== null) return [{ path, ...unknown }];
  const schema = objectAt(objectAt(completion.schema, "properties") ?? {}, field) ?? {};
  const faults = valuesOf(wanted).map((value) =>
    value === null ? null : valueFault(schema, value),
  );
  const wrong = faults.find((fault) => fault !== null);
  if (wrong === undefined || wrong === null) return [];
  const reason = `it never has this value: ${wrong.reason}`;
  return [{ path, reason, remedy: "correct the value, or the schema of the completion" }];
}

function nextFaults(stage: DeclaredStage, inStage: readonly string[], declared: Declaration) {
  const { next } = stage;
  const last = next.findIndex(isAlwaysMet);
  return next.flatMap((rule, index): readonly WorkflowFault[] => {
    const path = [...inStage, "next", String(index)];
    const late =
      last < 0 || index <= last
        ? []
        : [{ path, reason: "the rule above it is always met", remedy: "move it up" }];
    const met = conditionFaults(rule.when, NEXT_FACTS, [...path, "when"], stage, declared);
    return [...late, ...met, ...targetFaults(rule, path, declared)];
  });
}

function targetFaults(rule: NextRule, path: readonly string[], declared: Declaration) {
  const { to, parallel, join, pause } = rule;
  const ids = declared.stages.map(({ id }) => id);
  const found: WorkflowFault[] = [];
  const said = [to, parallel, pause].filter((one) => one !== null);
  if (said.length !== 1) {
    const reason = said.length === 0 ? "it leads nowhere" : "it leads to several things at once";
    found.push({ path, reason, remedy: "give it one of these: to, parallel, pause" });
  }
  const line = to === null ? [] : [to].flat();
  line.forEach((id, at) => {
    if (id === END && line.length === 1) return;
    const inTo = Array.isArray(to) ? [...path, "to", String(at)] : [...path, "to"];
    if (!ids.includes(id)) found.push({ path: inTo, ...unknownStage(id, ids) });
  });
  found.push(...groupFaults(parallel, [...path, "parallel"], ids));
  if (join === null) return found;
  const inJoin = [...path, "join"];
  if (parallel === null) {
    found.push({ path: inJoin, reason: "there is no group to join", remedy: "take it out" });
  }
  if (!ids.includes(join)) found.push({ path: inJoin, ...unknownStage(join, ids) });
  else if (parallel?.includes(join)) {
    const remedy = "join the group by a stage that is not in it";
    found.push({ path: inJoin, reason: `"${join}" is in the group itself`, remedy });
  }
  return found;
}

function groupFaults(
  parallel: readonly string[] | null,
  path: readonly string[],
  ids: readonly string[],
): readonly WorkflowFault[] {
  if (parallel === null) return [];
  const found: WorkflowFault[] = [];
  if (parallel.length < 2) {
    const reason = "a group has two stages or more";
    found.push({ path, reason, remedy: 'add one, or write "to" instead' });
  }
  parallel.forEach((id, at) => {
    const inGroup = [...path, String(at)];
    if (!ids.includes(id)) found.push({ path: inGroup, ...unknownStage(id, ids) });
    if (parallel.indexOf(id) < at) {
      const reason = `"${id}" is in the group already`;
      found.push({ path: inGroup, reason, remedy: "name each stage once" });
    }
  });
  return found;
}

/** What is wrong with the workflow as a whole, where all that it names is there. */
function wayFaults(declared: Declaration): readonly WorkflowFault[] {
  const { stages } = declared;
  const steps = stepsOf(declared);
  const entry = declared.entry ?? stages[0]?.id ?? "";
  const reached = reachable(steps, entry, null);
  const told = new Set<string>();
  const found: WorkflowFault[] = [...groupedFaults(declared, entry)];
  stages.forEach(({ id, body }, at) => {
    const path = ["stages", String(at)];
    if (!reached.has(id)) {
      const remedy = "lead to it by a rule of another stage, or take it out";
      found.push({ path: [...path, "id"], reason: "no way leads to this stage", remedy });
    }
    const way = told.has(id) ? null : endlessPath(steps, id);
    for (const stage of way ?? []) told.add(stage);
    if (way !== null) {
      const last = stages.findIndex((one) => one.id === way.at(-2));
      const reason = `this could go on for ever: ${way.join(" -> ")}`;
      const remedy = 'give the rule that leads back an "atMost"';
      found.push({ path: ["stages", String(last), "next"], reason, remedy });
    }
    found.push(...unknownYet(id, body, [...path, "body"], declared));
  });
  return found;

  /** Places for the results of stages that may not have run by then. */
  function unknownYet(
    id: string,
    body: string,
    path: readonly string[],
    { stages: all }: Declaration,
  ) {
    return placeholdersIn(body).flatMap((place) => {
      const [root, name = ""] = place.path;
      if (root !== "results" || place.fallback !== null || !reached.has(id)) return [];
      const other = all.find((one) => one.id === name);
      if (other === undefined) return [];
      const isSkippable = other.gate.some(({ verdict }) => verdict === "skip");
      const isPassed = reachable(steps, entry, name).has(id) || isBeside(id, name, all);
      if (name !== id && !isPassed && !isSkippable) return [];
      const why = isSkippable ? "may have been skipped" : "may not have ended";
      const reason = `${written(place)}: the stage "${name}" ${why} by then`;
      const remedy = `say what stands there then: \${${place.path.join(".")}|none yet}`;
      return [{ path, reason, remedy }];
    });
  }
}

function isBeside(one: string, other: string, stages: readonly DeclaredStage[]): boolean {
  const groups = stages.flatMap(({ next }) => next.map(({ parallel }) => parallel ?? []));
  return groups.some((group) => group.includes(one) && group.includes(other));
}

/** A stage of a group is at work in groups only, and what follows it is their join. */
function groupedFaults(declared: Declaration, entry: string): readonly WorkflowFault[] {
  const grouped = groupedStages(declared);
  const named = declared.stages.flatMap(({ next }) =>
    next.flatMap(({ to, join }) => [...(to === null ? [] : [to].flat()), ...(join ? [join] : [])]),
  );
  return declared.stages.flatMap(({ id, next }, at) => {
    if (!grouped.has(id)) return [];
    const path = ["stages", String(at)];
    const found: WorkflowFault[] = [];
    if (next.length > 0) {
      const reason = "what follows a stage of a parallel group is the join of the group";
      found.push({ path: [...path, "next"], reason, remedy: "give these rules to the join" });
    }
    if (id === entry || named.includes(id)) {
      const reason = `"${id}" is a stage of a parallel group, and begins by itself elsewhere`;
      found.push({ path: [...path, "id"], reason, remedy: "make two stages of it" });
    }
    return found;
  });
}

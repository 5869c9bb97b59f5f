import { isObject, type JsonObject, objectAt } from "../../core/json.ts";
import { didYouMean } from "../../core/spelling.ts";
import { type Placeholder, placeholdersIn } from "../../core/workflow/render.ts";
import { schemaFault } from "../schema.ts";
import type { StagePlan, WorkflowPlan } from "./contract.ts";

/** What is wrong with a workflow, where, and what its author does about it. */
export interface WorkflowFault {
  /** Keys and indexes from the whole down. */
  readonly path: readonly string[];
  readonly reason: string;
  readonly remedy: string;
}

/**
 * All that is wrong with a plan whose fields have their types: its ids, its entry, its schemas and
 * the places of its texts. What follows what is looked at by `flowFaults`.
 */
export function planFaults(plan: WorkflowPlan): readonly WorkflowFault[] {
  const { stages, entry } = plan;
  const ids = stages.map(({ id }) => id);
  const found: WorkflowFault[] = [];
  stages.forEach((stage, at) => {
    const inStage = ["stages", String(at)];
    if (ids.indexOf(stage.id) < at) {
      const reason = `there is another stage "${stage.id}"`;
      found.push({ path: [...inStage, "id"], reason, remedy: "give one of them another id" });
    }
    if (stage.id === "end") {
      const reason = "no stage can be called end: that is where a workflow ends";
      found.push({ path: [...inStage, "id"], reason, remedy: "give it another id" });
    }
    found.push(...completionFaults(stage, inStage));
    found.push(...placeFaults(stage.body, [...inStage, "body"], plan, stage));
    if (stage.run !== null) found.push(...commandFaults(stage.run, [...inStage, "run"]));
  });
  if (stages.length > 0 && !ids.includes(entry)) {
    found.push({ path: ["entry"], ...unknownStage(entry, ids) });
  }
  return found;
}

/** The words for an id that no stage has. */
export function unknownStage(id: string, ids: readonly string[]) {
  const reason = `there is no stage "${id}"${didYouMean(id, ids)}`;
  return { reason, remedy: `name one of these: ${ids.join(", ")}` };
}

function completionFaults({ completion }: StagePlan, inStage: readonly string[]) {
  if (completion === null) return [];
  const path = [...inStage, "completion", "schema"];
  const { schema } = completion;
  const fault = schemaFault(schema);
  if (fault !== null) {
    const inner = fault.path === "" ? [] : fault.path.split(".");
    const remedy = 'write it with the keywords of docs/extensions.md, "The manifest"';
    return [{ path: [...path, ...inner], reason: fault.reason, remedy }];
  }
  if (schema.type === "object") return [];
  return [{ path, reason: "it must be of the type object", remedy: 'add "type: object" to it' }];
}

/** What is known when a stage begins. */
const ROOTS = ["input", "attempt", "ctx", "results", "visits"];

function placeFaults(
  text: string,
  path: readonly string[],
  plan: WorkflowPlan,
  stage: StagePlan,
): readonly WorkflowFault[] {
  return placeholdersIn(text).flatMap((place) => {
    const said = placeReason(place, plan, stage);
    if (said === null) return [];
    return [{ path, reason: `${written(place)}: ${said.reason}`, remedy: said.remedy }];
  });
}

function placeReason(place: Placeholder, plan: WorkflowPlan, stage: StagePlan) {
  const [root = "", name = "", ...inner] = place.path;
  if (!ROOTS.includes(root)) {
    const known = ROOTS.join(", ");
    return { reason: `nothing is called "${root}"${didYouMean(root, ROOTS)}`, remedy: known };
  }
  if (root === "ctx") return contextReason(name, plan, stage);
  if (root !== "results" && root !== "visits") return null;
  const other = plan.stages.find(({ id }) => id === name);
  const ids = plan.stages.map(({ id }) => id);
  if (other === undefined) return unknownStage(name, ids);
  const field = inner[0];
  if (root === "visits" || field === undefined) return null;
  if (other.completion === null) {
    const reason = `the stage "${name}" has no completion, so its result is a text`;
    return { reason, remedy: `write \${results.${name}}, or give that stage a completion` };
  }
  return fieldReason(other.completion.schema, field);
}

/** In a declared workflow nothing but commands writes the context. */
function contextReason(name: string, { paths }: WorkflowPlan, { run }: StagePlan) {
  if (paths === null || (name === "run" && run !== null)) return null;
  const reason = name === "run" ? "this stage has no command" : `nothing writes ctx.${name}`;
  return { reason, remedy: 'give the stage a "run", and write ${ctx.run.output}' };
}

/** A field that a schema does not have; null if it may be there. */
export function fieldReason(schema: JsonObject, field: string) {
  const properties = objectAt(schema, "properties");
  if (properties === null || Object.hasOwn(properties, field)) return null;
  if (isObject(schema.additionalProperties) || schema.additionalProperties === true) return null;
  const known = Object.keys(properties);
  const reason = `its completion has no "${field}"${didYouMean(field, known)}`;
  return { reason, remedy: `name one of these: ${known.join(", ")}` };
}

/** A command has what a person or the server says in it, and never what an agent says. */
function commandFaults(command: string, path: readonly string[]) {
  return placeholdersIn(command).flatMap((place) => {
    const [root = ""] = place.path;
    if (root === "input" || root === "attempt" || root === "visits") return [];
    const reason = `${written(place)}: a command can have \${input}, and nothing of an agent`;
    const remedy = "take it out; a variable of the shell is written without braces";
    return [{ path, reason, remedy }];
  });
}

export function written({ path, fallback }: Placeholder): string {
  return `\${${path.join(".")}${fallback === null ? "" : `|${fallback}`}}`;
}

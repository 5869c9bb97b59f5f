import { z } from "zod";
import { isObject } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ExtensionManifest } from "../manifest.ts";
import { shapeFault } from "../shape-fault.ts";
import type { WorkflowPlan } from "./contract.ts";
import { MODULE_STAGE, SENTENCE } from "./declaration.ts";
import { planFaults } from "./plan-faults.ts";

const STAGES = { input: SENTENCE.nullable().default(null), entry: z.string().nullable() };

const MODULE = z.object({ ...STAGES, entry: STAGES.entry.default(null), stages: MODULE_STAGE });

/** The version of what a module keeps: that of its slot's first number. */
function slotVersionOf({ stateSlot }: ExtensionManifest): number {
  return Number.parseInt(stateSlot?.slotVersion ?? "1", 10);
}

/** The plan of a workflow whose module has answered with these stages. */
export function readModulePlan(manifest: ExtensionManifest, said: unknown): Result<WorkflowPlan> {
  const { id: workflow, description } = manifest;
  const wrong = (path: string, reason: string) =>
    fail("invalid_workflow", { workflow, path: path || "what its module answers", reason });
  if (!isObject(said)) return wrong("", "it is no object");
  const read = MODULE.safeParse(said);
  if (!read.success) {
    const { path, reason } = shapeFault(read.error, Object.keys(MODULE.shape));
    return wrong(path, reason);
  }
  const { input, entry, stages } = read.data;
  const plan: WorkflowPlan = {
    ...{ name: workflow, description, input, slotVersion: slotVersionOf(manifest) },
    entry: entry ?? stages[0]?.id ?? "",
    stages: stages.map((stage) => ({ ...stage, name: stage.name ?? stage.id })),
    paths: null,
  };
  const [fault] = planFaults(plan);
  if (fault === undefined) return ok(plan);
  return wrong(fault.path.join("."), `${fault.reason}; ${fault.remedy}`);
}

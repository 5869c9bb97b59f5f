import { z } from "zod";
import { STAGE_GROUP_MAX, WORKFLOW_STAGES_MAX } from "../../core/limits.ts";
import type { PlainData } from "../plain-data.ts";
import type { ActReport, AssertVerdict, GateVerdict, Next, StageContext } from "./contract.ts";

// What the phases of a module have answered, if it is what they may answer; else null.

export function readContext(said: PlainData): StageContext | null {
  return isContext(said) ? said : null;
}

function isContext(said: PlainData): said is StageContext {
  return typeof said === "object" && said !== null && !Array.isArray(said);
}

export function readGateVerdict(said: PlainData): GateVerdict | null {
  return z.enum(["proceed", "retry", "skip"]).safeParse(said).data ?? null;
}

export function readAssertVerdict(said: PlainData): AssertVerdict | null {
  return z.enum(["ok", "retry", "skip", "fail"]).safeParse(said).data ?? null;
}

const IDS = z.array(z.string());

const NEXT = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("sequential"), stages: IDS.max(WORKFLOW_STAGES_MAX) }),
  z.object({
    kind: z.literal("parallel"),
    stages: IDS.min(2).max(STAGE_GROUP_MAX),
    join: z.string().exactOptional(),
  }),
  z.object({ kind: z.literal("pause"), reason: z.string().max(1_024) }),
]);

/** All stages that follow are there; those of a group are different ones. */
export function readNext(said: PlainData, ids: readonly string[]): Next | null {
  const { data: next } = NEXT.safeParse(said);
  if (next === undefined) return null;
  if (next.kind === "pause") return next;
  const { stages } = next;
  if (!stages.every((id) => ids.includes(id))) return null;
  if (next.kind === "sequential") return next;
  const { join } = next;
  const isJoined = join === undefined || (ids.includes(join) && !stages.includes(join));
  return isJoined && new Set(stages).size === stages.length ? next : null;
}

/** Without a word of the workflow's own: a stage with a completion is done when that is there. */
export function usualVerdict(act: ActReport, isToComplete: boolean): AssertVerdict {
  if (act.isSkipped) return "skip";
  const isDone = isToComplete ? act.completion !== null : !act.isCapHit;
  return isDone ? "ok" : "retry";
}

/** What a stage comes to without a word of the workflow's own. */
export function resultOf({ completion, text }: ActReport): PlainData {
  return completion ?? text;
}

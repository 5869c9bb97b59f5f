import type { ChildId } from "../../core/id.ts";
import { allowlisted, type WorkflowOpinion } from "../../core/policy/gate.ts";
import type { Session } from "../../core/session/state.ts";
import type { StagePlan, WorkflowRun } from "../../extension/workflow/index.ts";
import { siblingId } from "./group.ts";
import { stageIn } from "./phases.ts";

/** A call that an agent wants to make. */
export interface WantedOpinion {
  readonly keys: readonly string[];
  /** The call looks in all its parts like the one by which a stage is completed. */
  readonly isCompletion: boolean;
  readonly childId?: ChildId | undefined;
}

/** What the agent's side, and children, ask of the workflow when an agent wants to do something. */
export interface CallOpinions {
  opinion(wanted: WantedOpinion): WorkflowOpinion;
}

/** What the stage at work says to a call of its agent, or of the child that does it. */
export function opinionOf(
  session: Session,
  run: WorkflowRun,
  { keys, childId, isCompletion }: WantedOpinion,
): WorkflowOpinion {
  const stage = stageAtWork(session, run, childId);
  if (stage === null || stage.allowedTools === null) return null;
  if (allowlisted(keys, stage.allowedTools)) return "approve";
  // The stage itself must not deny how it is to be completed. But an agent may give a call any
  // name, so a person looks at it.
  return stage.otherTools === "deny" && !isCompletion ? "deny" : "defer";
}

/** In a group each child is at work on a stage of its own; a child of a stage is bound as it is. */
function stageAtWork(
  { running, connection }: Session,
  run: WorkflowRun,
  childId: ChildId | undefined,
): StagePlan | null {
  if (running?.stage === undefined) return null;
  const { stages } = running.stage;
  const [only = "", ...others] = stages;
  if (others.length === 0) return stageIn(run, only);
  const callId = childId && connection.turn.children.get(childId)?.callId;
  const id = stages.find((stage) => siblingId(running.promptId, stage) === callId);
  return id === undefined ? null : stageIn(run, id);
}

/** The opinions of a workflow that is there by the time that it is asked. */
export function opinionsOf(workflow: () => CallOpinions | null): CallOpinions {
  return { opinion: (wanted) => workflow()?.opinion(wanted) ?? null };
}

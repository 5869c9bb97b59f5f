import { WORKFLOW_EXECUTIONS_MAX, WORKFLOW_INTERRUPTIONS_MAX } from "../../limits.ts";
import type { Draft } from "../draft.ts";
import { stampOf } from "../event.ts";
import type { RunningPrompt, WaitingPrompt } from "../state.ts";
import type {
  AttachedWorkflow,
  ExecutionOutcome,
  StageNext,
  StageRuling,
  WorkflowStep,
} from "../workflow.ts";
import type { TurnVerdict } from "./turn.ts";

/** What an execution of stages came to. */
interface ExecutionEnd {
  readonly outcome: ExecutionOutcome;
  readonly reason?: string;
  readonly next?: StageNext | undefined;
  /** It goes no further without a person, and this is why. */
  readonly pause?: { readonly reason: string; readonly message: string };
  readonly kept?: boolean;
}

/** Verdicts that come with the end of a server or its store: the stage had no say in them. */
const INTERRUPTED: ReadonlySet<string> = new Set([
  "SERVER_RESTART",
  "STORE_FAILURE",
  "daemon_shutdown",
  "session_killed",
]);

/** Another attempt would meet the same, or has to be wanted by a person. */
const FINAL: ReadonlySet<string> = new Set(["budget_exhausted", "session_closed"]);

/**
 * The end of a turn is the end of an execution of stages: what it came to, and what the workflow
 * does from here on, are in the same commit as the verdict. So none is lost or counted twice.
 */
export function executionOver(
  draft: Draft,
  prompt: RunningPrompt,
  verdict: TurnVerdict,
  ruling: StageRuling | undefined,
) {
  const { workflow } = draft.session;
  const { stage, stamp } = prompt;
  if (workflow === undefined || stage === undefined) return;
  const end = endOf(workflow, verdict, ruling);
  const { outcome, reason, kept = false } = end;
  const { plan, pause } = follows(workflow, end);
  const told = { ...stage, outcome, ...(reason && { reason }), ...(kept && { kept }), plan };
  draft.emit("stage_ended", told, stamp);
  const after = draft.session.workflow;
  const isPaused = after?.state === "paused";
  if (after === undefined || !(isPaused || after.state === "running")) return;
  // Nothing follows that a pause could keep from beginning.
  if (plan.length === 0) draft.emit("workflow_ended", { state: "ended" }, stamp);
  else if (isPaused) return;
  else if (pause !== null) draft.emit("workflow_paused", pause, stamp);
  else if (after.executions >= WORKFLOW_EXECUTIONS_MAX) {
    const message = `It has had ${WORKFLOW_EXECUTIONS_MAX} executions of stages.`;
    draft.emit("workflow_paused", { reason: "workflow_too_long", message }, stamp);
  }
}

/** The prompt of a stage that has its verdict and was never a turn: a person decides what next. */
export function stageRefused(draft: Draft, prompt: WaitingPrompt, verdict: TurnVerdict) {
  if (draft.session.workflow?.state !== "running") return;
  draft.emit("workflow_paused", pauseBy(verdict), stampOf(prompt.promptId, prompt));
}

function pauseBy(verdict: TurnVerdict): { readonly reason: string; readonly message: string } {
  if (verdict.type === "turn_error") return { reason: verdict.code, message: verdict.message };
  return { reason: "cancelled", message: "Its stage was cancelled." };
}

function endOf(
  { interruptions }: AttachedWorkflow,
  verdict: TurnVerdict,
  ruling: StageRuling | undefined,
): ExecutionEnd {
  if (verdict.type === "turn_complete") {
    if (verdict.stopReason === "cancelled")
      return { outcome: "cancelled", pause: pauseBy(verdict) };
    return ruling ?? { outcome: "failed", reason: "The stage has no result." };
  }
  const { code, message: reason } = verdict;
  if (FINAL.has(code)) return { outcome: "cancelled", reason, pause: pauseBy(verdict) };
  if (!INTERRUPTED.has(code)) return { outcome: "retry", reason };
  const isLast = interruptions + 1 >= WORKFLOW_INTERRUPTIONS_MAX;
  return { outcome: "interrupted", reason, ...(isLast && { pause: pauseBy(verdict) }) };
}

/** What the workflow does from here on, and why not without a person. */
function follows({ plan, failures }: AttachedWorkflow, end: ExecutionEnd) {
  const { outcome, reason, next, pause = null } = end;
  const [head, ...rest] = plan;
  if (next?.kind === "steps") return { plan: next.steps, pause };
  if (next?.kind === "pause") {
    return { plan, pause: { reason: "stage_paused", message: next.reason } };
  }
  if (outcome === "ok" || outcome === "skipped") return { plan: rest, pause };
  const hasFailed =
    outcome === "failed" || (outcome === "retry" && failures + 1 >= (head?.maxAttempts ?? 1));
  return { plan, pause: pause ?? (hasFailed ? failedStage(head, reason) : null) };
}

function failedStage(head: WorkflowStep | undefined, reason: string | undefined) {
  const stages = head?.stages.join(", ") ?? "";
  return { reason: "stage_failed", message: reason ?? `The stage ${stages} has failed.` };
}

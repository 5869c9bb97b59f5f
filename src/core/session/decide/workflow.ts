import { promptText } from "../../agent-update.ts";
import { type Refusal, refusal } from "../../error.ts";
import type { UserId } from "../../id.ts";
import { PROMPT_PREVIEW_CHARS_MAX } from "../../limits.ts";
import type { Authority } from "../../policy/bound.ts";
import { cutText } from "../../text.ts";
import { type Command, callerStamp, type NewWorkflow, originatorOf, userOf } from "../command.ts";
import { type Decision, Draft, refused } from "../draft.ts";
import { type Stamp, stampOf } from "../event.ts";
import { pendingCount, type Session } from "../state.ts";
import {
  type AttachedWorkflow,
  isAttached,
  isSameStages,
  stageDueAtMs,
  type WorkflowAct,
  type WorkflowState,
} from "../workflow.ts";
import { stopTurn } from "./stop.ts";
import { echoPrompt, pronounce } from "./turn.ts";

/** Attaches a workflow, of which a session has one at most; the same one again is harmless. */
export function attach(session: Session, command: Command<"attach_workflow">): Decision {
  const { workflow, actor, bound } = command;
  const why = attachRefusal(session, workflow);
  if (why !== null) return refused(session, why);
  const draft = new Draft(session, command);
  const by = { userId: userOf(actor), ...(bound && { authority: bound.authority }) };
  attached(draft, workflow, by, callerStamp(actor));
  return draft.accept();
}

export function attachRefusal({ workflow }: Session, wanted: NewWorkflow): Refusal | null {
  if (!isAttached(workflow) || isSame(workflow, wanted)) return null;
  return refusal("workflow_attached", { workflow: workflow.name });
}

function isSame(workflow: AttachedWorkflow, { name, hash, input }: NewWorkflow): boolean {
  return workflow.name === name && workflow.hash === hash && workflow.input === input;
}

export function attached(
  draft: Draft,
  wanted: NewWorkflow,
  { userId, authority }: { readonly userId: UserId | null; readonly authority?: Authority },
  stamp: Stamp,
) {
  if (isAttached(draft.session.workflow)) return;
  const by = { ...(userId && { userId }), ...(authority && { authority }) };
  draft.emit("workflow_attached", { ...wanted, ...by }, stamp);
}

/** Admits the next stage as a prompt of the server, when nothing else is to be done before it. */
export function beginStage(session: Session, command: Command<"begin_stage">): Decision {
  const why = stageRefusal(session, command);
  const { workflow } = session;
  if (why !== null || workflow === undefined) {
    return refused(session, why ?? refusal("workflow_none"));
  }
  const { promptId, stages, content, lastEventId, deadlineAtMs, atMs } = command;
  const { userId, authority, attempts } = workflow;
  const draft = new Draft(session, command);
  const data = {
    promptId,
    text: cutText(promptText(content), PROMPT_PREVIEW_CHARS_MAX),
    content,
    admittedAtMs: atMs,
    lastEventId,
    echo: false,
    stage: { stages, attempt: attempts + 1 },
    ...(deadlineAtMs !== null && { deadlineAtMs }),
    ...(userId && { userId }),
    ...(authority && { authority }),
  };
  draft.emit("prompt_admitted", data, stampOf(promptId, { clientId: null, userId }));
  return draft.accept({ promptId, lastEventId });
}

function stageRefusal(session: Session, command: Command<"begin_stage">): Refusal | null {
  const { workflow, sessionId } = session;
  if (!isAttached(workflow)) return refusal("workflow_none");
  if (workflow.state !== "running") return wrongState(workflow, "begin");
  if (pendingCount(session) > 0) return refusal("session_busy", { sessionId });
  const next = workflow.plan[0]?.stages ?? [];
  const isNext = isSameStages(next, command.stages) && command.atMs >= stageDueAtMs(workflow);
  return isNext ? null : refusal("stage_not_next", { stages: command.stages.join(", ") });
}

/** What the agent is told in a turn of a stage; from here on it is what the turn was asked. */
export function promptStage(session: Session, command: Command<"prompt_stage">): Decision {
  const { turnId, stage, text } = command;
  const { running } = session;
  if (running?.turnId !== turnId || running.stage === undefined) {
    return refused(session, refusal("turn_not_open"));
  }
  const draft = new Draft(session, command);
  draft.emit("stage_prompted", { stage, text }, running.stamp);
  const told = draft.session.running;
  if (told !== null) echoPrompt(draft, { ...told, echo: true });
  return draft.accept();
}

/** A person has it pause, go on, try its stage anew, or stop. */
export function steerWorkflow(session: Session, command: Command<"steer_workflow">): Decision {
  const { act, actor } = command;
  const draft = new Draft(session, command);
  const why = steered(draft, act, callerStamp(actor));
  if (why !== null) return refused(session, why);
  if (act === "stop") endStage(draft, command);
  return draft.accept();
}

/** Null is acceptance. */
export function steered(draft: Draft, act: WorkflowAct, stamp: Stamp): Refusal | null {
  const { workflow } = draft.session;
  if (!isAttached(workflow)) return refusal("workflow_none");
  if (!FROM[act].includes(workflow.state)) return wrongState(workflow, act);
  const stages = workflow.plan[0]?.stages ?? [];
  if (act === "stop") draft.emit("workflow_ended", { state: "stopped" }, stamp);
  else if (act !== "pause" && stages.length === 0) {
    draft.emit("workflow_ended", { state: "ended" }, stamp);
  } else if (act === "pause") draft.emit("workflow_paused", PAUSED, stamp);
  else draft.emit("workflow_resumed", { stages }, stamp);
  return null;
}

const PAUSED = { reason: "paused", message: "A person has paused it." };

/** In which states a person can do so. */
const FROM: Readonly<Record<WorkflowAct, readonly WorkflowState[]>> = {
  pause: ["running"],
  resume: ["paused", "aborted"],
  retry: ["paused", "aborted"],
  stop: ["running", "paused", "aborted"],
};

/** Its stage does not go on without it. */
function endStage(draft: Draft, { actor }: Command<"steer_workflow">) {
  const by = originatorOf(actor);
  if (draft.session.running?.stage !== undefined) stopTurn(draft, "client", by);
  for (const waiting of draft.session.queue.filter(({ stage }) => stage !== undefined)) {
    pronounce(draft, waiting, { type: "turn_complete", stopReason: "cancelled" }, "none");
  }
}

/** It cannot go on here: the session is plain chat until a person has it try again (P6). */
export function abortWorkflow(session: Session, command: Command<"abort_workflow">): Decision {
  const { workflow } = session;
  if (workflow?.state !== "running") return refused(session, refusal("workflow_none"));
  const draft = new Draft(session, command);
  draft.emit("workflow_aborted", { reason: command.reason });
  return draft.accept();
}

function wrongState({ name: workflow, state }: AttachedWorkflow, act: string): Refusal {
  return refusal("workflow_state", { workflow, state, act });
}

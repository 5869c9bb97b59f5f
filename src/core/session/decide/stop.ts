import { type Refusal, refusal } from "../../error.ts";
import type { AskId } from "../../id.ts";
import { CANCELLED } from "../../policy/ask.ts";
import { refusedOutcome } from "../../policy/gate.ts";
import { applySessionTransition } from "../../status.ts";
import type { TurnErrorCode } from "../../turn-error.ts";
import type { ChildErrorCode } from "../child.ts";
import { type AgentStatusReport, type Command, callerStamp, originatorOf } from "../command.ts";
import { type Decision, Draft, refused, unchanged } from "../draft.ts";
import { type EventData, type Originator, stampOf } from "../event.ts";
import type { StopCause } from "../reason.ts";
import type { Session } from "../state.ts";
import type { StageRuling } from "../workflow.ts";
import { endChildren, timePassed } from "./child.ts";
import { finishEnding } from "./instance.ts";
import { askStamp, resumeIfAnswered } from "./open-asks.ts";
import { sandboxExpired } from "./setting.ts";
import {
  cancelAsks,
  endTurn,
  forwardFailed,
  pronounce,
  type TurnVerdict,
  turnError,
} from "./turn.ts";

const NO_ORIGINATOR: Originator = { clientId: null };

/**
 * Tells the running turn to stop. It keeps running until the agent has settled it, so that no
 * other prompt meets an agent that is still at work; a deadline of the server's bounds the wait.
 */
export function stopTurn(draft: Draft, cause: StopCause, by: Originator) {
  const { running } = draft.session;
  if (running === null || running.stopCause !== null) return;
  const { promptId } = running;
  endChildren(draft, CHILDREN_STOPPED[cause]);
  const data = cause === "client" ? {} : { reason: cause };
  draft.emit("prompt_cancelled", data, stampOf(promptId, by));
  cancelAsks(draft, "turn_cancelled");
  if (draft.state === "waiting") draft.moveTo("running", "approval_resolved");
}

/** What is below a turn ends before it. */
const CHILDREN_STOPPED: Readonly<Record<StopCause, ChildErrorCode>> = {
  client: "parent_cancelled",
  deadline: "deadline_exceeded",
  budget: "budget_exhausted",
  turn_too_large: "turn_too_large",
};

/** Cancels what runs; with nothing running there is still an event for the clients. */
export function cancel(session: Session, command: Command<"cancel">): Decision {
  const draft = new Draft(session, command);
  if (session.running !== null) stopTurn(draft, "client", originatorOf(command.actor));
  else draft.emit("prompt_cancelled", {}, callerStamp(command.actor));
  return draft.accept();
}

export function limitPassed(session: Session, command: Command<"limit_passed">): Decision {
  if (session.running?.turnId !== command.turnId) return notOpen(session);
  const draft = new Draft(session, command);
  stopTurn(draft, command.limit, NO_ORIGINATOR);
  return draft.accept();
}

/** A timer that fires late finds nothing to do, and that is fine. */
export function deadlinePassed(session: Session, command: Command<"deadline_passed">): Decision {
  const draft = new Draft(session, command);
  const { deadline } = command;
  if (deadline.of === "prompt") {
    const { promptId } = deadline;
    const waiting = session.queue.find((prompt) => prompt.promptId === promptId);
    if (waiting !== undefined) pronounce(draft, waiting, turnError("prompt_deadline_exceeded"));
    else if (session.running?.promptId === promptId) stopTurn(draft, "deadline", NO_ORIGINATOR);
  } else if (deadline.of === "ask") {
    expireAsk(draft, deadline.requestId);
  } else if (deadline.of === "sandbox") {
    sandboxExpired(draft, command.atMs);
  } else if (deadline.of === "child") {
    timePassed(draft, deadline.childId);
  } else if (session.running?.turnId === deadline.turnId) {
    abortUnsettled(draft);
  }
  return draft.accept();
}

/** No answer in time is a refusal; a cancel would make the agent stop its turn. */
function expireAsk(draft: Draft, requestId: AskId) {
  const ask = openAsk(draft.session, requestId);
  if (ask === undefined) return;
  const outcome = refusedOutcome(ask.options);
  endAsk(draft, { requestId, outcome, reason: "timeout" });
}

/** Ends an ask that its agent took back; one that has its answer stays answered. */
export function askWithdrawn(session: Session, command: Command<"ask_withdrawn">): Decision {
  const { requestId, reason } = command;
  if (openAsk(session, requestId) === undefined) return unchanged(session);
  const draft = new Draft(session, command);
  endAsk(draft, { requestId, outcome: CANCELLED, reason });
  return draft.accept();
}

function openAsk({ connection }: Session, requestId: AskId) {
  return connection.turn.openAsks.get(requestId);
}

export function endAsk(draft: Draft, resolved: EventData["permission_resolved"]) {
  const ask = openAsk(draft.session, resolved.requestId) ?? {};
  draft.emit("permission_resolved", resolved, askStamp(draft.session, ask));
  resumeIfAnswered(draft);
}

/** Why a stopped turn failed; a person's cancel is no failure unless the agent ignores it. */
const STOPPED: Readonly<Record<StopCause, TurnErrorCode | null>> = {
  client: null,
  deadline: "prompt_deadline_exceeded",
  budget: "budget_exhausted",
  turn_too_large: "turn_too_large",
};

/** The agent ignored the stop. Nothing is known of it any more, so the session is in error. */
function abortUnsettled(draft: Draft) {
  const stopCause = draft.session.running?.stopCause ?? null;
  if (stopCause === null) return;
  const verdict = turnError(STOPPED[stopCause] ?? "cancel_ignored");
  endTurn(draft, { verdict, to: "error", cause: "error", asksEnd: "turn_ended", fate: "kept" });
}

/** The turn is whole, but its snapshot is more than the store takes in one commit. */
export function commitRefused(session: Session, command: Command<"commit_refused">): Decision {
  if (session.running?.turnId !== command.turnId) return notOpen(session);
  const draft = new Draft(session, command);
  settleTurn(draft, turnError("snapshot_too_large"));
  return draft.accept();
}

/** The agent has settled its turn. If the turn was stopped, the verdict says why. */
export function turnCompleted(
  draft: Draft,
  report: AgentStatusReport<"turn_complete">,
): Refusal | null {
  const { turnId, stopReason, stage } = report;
  const { running } = draft.session;
  if (running?.turnId !== turnId) return refusal("turn_not_open");
  const stopped = verdictOfStopped(running.stopCause);
  settleTurn(draft, stopped ?? { type: "turn_complete", stopReason }, stage);
  return null;
}

/**
 * A failed turn leaves the session ready for another. Without a turn, an error means that
 * something deeper is wrong with the agent; but word of a turn that has its verdict is only late.
 */
export function turnFailed(draft: Draft, report: AgentStatusReport<"turn_error">): Refusal | null {
  const { turnId, failure } = report;
  const { running } = draft.session;
  if (turnId !== null && running?.turnId !== turnId) return refusal("turn_not_open");
  if (running === null) return failWithoutTurn(draft, failure.message);
  const { code, message, errorKind } = failure;
  const stopped = verdictOfStopped(running.stopCause);
  if (stopped === null && errorKind === null) forwardFailed(draft);
  settleTurn(
    draft,
    stopped ?? { type: "turn_error", code, message, ...(errorKind && { errorKind }) },
  );
  return null;
}

const CANCELLED_TURN: TurnVerdict = { type: "turn_complete", stopReason: "cancelled" };

/** Some agents end a cancelled turn with `end_turn`; it counts as cancelled all the same. */
function verdictOfStopped(cause: StopCause | null): TurnVerdict | null {
  const code = cause === null ? null : STOPPED[cause];
  if (code !== null) return turnError(code);
  return cause === null ? null : CANCELLED_TURN;
}

function failWithoutTurn(draft: Draft, message: string): Refusal | null {
  const next = applySessionTransition(draft.state, "turn_error");
  if (next === null)
    return refusal("agent_out_of_turn", { trigger: "turn_error", state: draft.state });
  draft.moveTo(next, "turn_error", { message });
  finishEnding(draft);
  return null;
}

function settleTurn(draft: Draft, verdict: TurnVerdict, ruling?: StageRuling) {
  const end = { to: "ready", cause: "verdict", asksEnd: "turn_ended", fate: "kept" } as const;
  endTurn(draft, { verdict, ruling, ...end });
}

function notOpen(session: Session): Decision {
  return refused(session, refusal("turn_not_open"));
}

import { type Refusal, refusal } from "../../error.ts";
import { ALLOWLIST_PATTERNS_MAX, APPROVAL_KEY_CHARS_MAX } from "../../limits.ts";
import { approvalModeAllowed, approvalModeFor } from "../../policy/risk.ts";
import { isCount } from "../../price.ts";
import { hasTurn } from "../../status.ts";
import type { TurnErrorCode } from "../../turn-error.ts";
import { type Command, callerStamp } from "../command.ts";
import { type Decision, Draft, refused, unchanged } from "../draft.ts";
import { type SessionEvent, type Stamp, stampOf } from "../event.ts";
import { created } from "../evolve/instance.ts";
import type { AskEnd, EndReason, StopReason } from "../reason.ts";
import { type Creation, type Ending, type Session, workCount } from "../state.ts";
import { invalidAmount } from "./amount.ts";
import { endChildren } from "./child.ts";
import { displayNameRefusal, nameRefusal, trustGate } from "./setting.ts";
import { endTurn, pronounce, turnError } from "./turn.ts";

export function create(command: Command<"create">): Decision {
  const { sessionId, atMs } = command;
  const why = creationRefusal(command.creation);
  if (why !== null) return refused(null, why);
  const creation = worded(command.creation);
  const event: SessionEvent<"session_created"> = {
    v: 1,
    type: "session_created",
    data: { sessionId, creation },
    ...callerStamp(command.actor),
    _meta: { serverTimestamp: atMs },
  };
  const draft = new Draft(created(event), command, event);
  const { skipped = [] } = command;
  draft.enter("SessionStarted", skipped.length === 0 ? {} : { skipped });
  return draft.accept();
}

function creationRefusal(creation: Creation): Refusal | null {
  const { securityMode, allowlist, approvalMode, displayName } = creation;
  const { budgetMicro, monthBudgetMicro = null } = creation;
  const misplaced = allowlist.length > 0 && securityMode !== "allowlist";
  const bad = allowlist.length > ALLOWLIST_PATTERNS_MAX || !allowlist.every(isPattern);
  if (misplaced || bad) return refusal("invalid_allowlist", { limit: ALLOWLIST_PATTERNS_MAX });
  if (!approvalModeAllowed(approvalMode, securityMode)) return trustGate();
  if (budgetMicro !== null && !isCount(budgetMicro)) return invalidAmount();
  if (monthBudgetMicro !== null && !isCount(monthBudgetMicro)) return invalidAmount();
  return displayNameRefusal(displayName ?? "") ?? nameRefusal(creation.name ?? null);
}

/** The profile, where one is named, is what counts; the wire's word is the one that fits it. */
function worded(creation: Creation): Creation {
  const { autonomyProfile, approvalMode } = creation;
  if (autonomyProfile === null) return creation;
  return { ...creation, approvalMode: approvalModeFor(autonomyProfile, approvalMode) };
}

const isPattern = ({ length }: string) => length > 0 && length <= APPROVAL_KEY_CHARS_MAX;

/** Brings a closed session back; for one that is still there it means nothing. */
export function resume(session: Session, command: Command<"resume">): Decision {
  const draft = new Draft(session, command);
  if (session.phase === "Closed") {
    draft.enter("SessionResumeStarted", { skipped: command.skipped });
  }
  return draft.accept();
}

/** Work may be ended only by those who must; an idle rule finds none, or leaves it alone. */
const ENDS_TURN: Readonly<Record<StopReason, TurnErrorCode | null>> = {
  daemon_shutdown: "daemon_shutdown",
  killed: "session_killed",
  last_client_detached: null,
  idle_timeout: null,
  evicted: null,
};

/** Ends the live instance. What waits in the queue has not run, and stays. */
export function stop(session: Session, command: Command<"stop">): Decision {
  if (session.ending !== null) return unchanged(session);
  const code = ENDS_TURN[command.reason];
  if (workCount(session) > 0 && code === null) {
    return refused(session, refusal("session_busy", { sessionId: session.sessionId }));
  }
  const draft = new Draft(session, command);
  takeDown(draft, command.reason, code ?? "daemon_shutdown", {});
  return draft.accept();
}

/** A client ends the session for all clients: each prompt gets its verdict, and none is taken. */
export function close(session: Session, command: Command<"close">): Decision {
  const draft = new Draft(session, command);
  closed(draft, callerStamp(command.actor));
  return draft.accept();
}

export function closed(draft: Draft, stamp: Stamp) {
  takeDown(draft, "client_close", "session_closed", stamp);
}

/**
 * With an agent, it is taken down first and the instance closes when it is gone. Without one, or
 * with one that is on its way out already, the instance closes at once.
 */
function takeDown(draft: Draft, reason: EndReason, code: TurnErrorCode, stamp: Stamp) {
  const abandoned = { cause: reason, asksEnd: "session_closed", fate: "abandoned", stamp } as const;
  abortShells(draft);
  if (reason === "client_close") callOff(draft, stamp);
  endTurn(draft, { ...abandoned, verdict: turnError(code), to: "deactivating" });
  if (reason === "client_close") {
    dropQueue(draft, code);
    pauseWorkflow(draft, stamp);
  }
  if (draft.state === "ready") draft.moveTo("deactivating", reason, { stamp });
  if (draft.session.ending?.reason === reason && draft.state === "deactivating") return;
  draft.moveTo("inactive", reason);
  closeInstance(draft, reason, stamp);
}

/** Closing a session cancels what runs in it; one event says so. */
function callOff(draft: Draft, stamp: Stamp) {
  const { running } = draft.session;
  if (running === null || running.stopCause !== null) return;
  endChildren(draft, "parent_cancelled");
  draft.emit("prompt_cancelled", {}, { ...stamp, promptId: running.promptId });
}

/** A session that no client wants does not go on by itself when it is brought back. */
function pauseWorkflow(draft: Draft, stamp: Stamp) {
  if (draft.session.workflow?.state !== "running") return;
  const message = "The session was closed.";
  draft.emit("workflow_paused", { reason: "session_closed", message }, stamp);
}

/** Gives every waiting prompt the same verdict, in order. */
export function dropQueue(draft: Draft, code: TurnErrorCode, message?: string) {
  for (const prompt of draft.session.queue) pronounce(draft, prompt, turnError(code, message));
}

/** No shell command outlives its instance, so none is left without a result. */
function abortShells(draft: Draft) {
  for (const [shellId, shell] of draft.session.shells) {
    const { command } = shell;
    const ended = { exitCode: null, signal: null, aborted: true, output: "" };
    draft.emit("user_shell_result", { shellId, command, ...ended }, stampOf(null, shell));
  }
}

/** The agent is gone and the instance with it; a client's close has an event for all clients. */
function closeInstance(draft: Draft, reason: EndReason, stamp: Stamp) {
  if (draft.session.phase !== "Closed") draft.enter("SessionClosed", { reason });
  if (reason !== "client_close" || draft.session.closed) return;
  const closedBy = stamp.originatorClientId;
  draft.emit("session_closed", { reason, ...(closedBy && { closedBy }) }, stamp);
}

/** The instance that was being taken down closes, whether its agent went well or badly. */
export function finishEnding(draft: Draft) {
  const { ending } = draft.session;
  if (ending === null) return;
  const { reason } = ending;
  draft.moveTo("inactive", reason);
  closeInstance(draft, reason, enderStamp(ending));
}

/** An agent is gone some time after it was told to go: the originator is kept until then. */
function enderStamp({ closedBy, closedByUser }: Ending): Stamp {
  return stampOf(null, { clientId: closedBy, userId: closedByUser ?? null });
}

interface FailureKind {
  readonly reason: EndReason;
  readonly code: TurnErrorCode & AskEnd;
}

const INTERRUPTIONS: Readonly<Record<"recovery" | "store_failure", FailureKind>> = {
  recovery: { reason: "crash", code: "SERVER_RESTART" },
  store_failure: { reason: "store_failure", code: "STORE_FAILURE" },
};

/**
 * What a session is owed after its server or store failed under it: what the log calls open
 * is closed, by legal steps. Done twice, it does nothing the second time. The queue stays.
 */
export function recover(
  session: Session,
  command: Command<"recovery"> | Command<"store_failure">,
): Decision {
  const draft = new Draft(session, command);
  const { reason, code } = INTERRUPTIONS[command.type];
  abortShells(draft);
  if (hasTurn(draft.state)) {
    const verdict = turnError(code);
    endTurn(draft, { verdict, to: "error", cause: reason, asksEnd: code, fate: "abandoned" });
  }
  draft.moveTo("inactive", reason);
  if (draft.session.phase !== "Closed") {
    const { ending } = draft.session;
    closeInstance(draft, ending?.reason ?? reason, ending === null ? {} : enderStamp(ending));
  }
  return draft.accept();
}

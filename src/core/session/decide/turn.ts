import type { AgentUpdate, ContentBlock } from "../../agent-update.ts";
import type { TurnId } from "../../id.ts";
import { settle } from "../../ledger.ts";
import { PROMPT_ECHO_BLOCKS_MAX } from "../../limits.ts";
import { CANCELLED } from "../../policy/ask.ts";
import type { TurnState } from "../../turn.ts";
import { isUsageUnknown } from "../../turn-cost.ts";
import { TURN_ERRORS, type TurnErrorCode } from "../../turn-error.ts";
import type { TurnStart } from "../command.ts";
import type { TurnCost } from "../credit-event.ts";
import type { Draft } from "../draft.ts";
import { type EventData, type Stamp, stampOf } from "../event.ts";
import type { AskEnd, StatusCause, TurnOutcome } from "../reason.ts";
import type { RunningPrompt, WaitingPrompt } from "../state.ts";
import type { StageRuling } from "../workflow.ts";
import { endChildren } from "./child.ts";
import { askStamp } from "./open-asks.ts";
import { executionOver, stageRefused } from "./stage-end.ts";

/** Takes a prompt out of the queue and puts it to work. The session is `ready`. */
export function beginTurn(draft: Draft, prompt: WaitingPrompt, start: TurnStart) {
  const { turnId, reservedMicro, price, model, slash, told = [] } = start;
  const { promptId, text, waited } = prompt;
  const stamp = stampOf(promptId, prompt);
  if (draft.session.phase === "Resumed") draft.enter("SessionResumed", {}, stamp);
  const context = told.length === 0 ? {} : { told };
  const about = { turnId, promptId, ...(slash && { slash }), ...context };
  draft.enter("SessionTurnStart", about, stamp);
  const paid = { amountMicro: reservedMicro, price, ...(model !== undefined && { model }) };
  draft.emit("credits_reserved", { turnId, n: 0, ...paid }, stamp);
  draft.moveTo("running", "prompt", { stamp });
  if (waited) draft.emit("pending_prompt_started", { promptId, text }, stamp);
  if (prompt.stage !== undefined) draft.emit("stage_started", prompt.stage, stamp);
  echoPrompt(draft, prompt);
}

/** Shows all clients which prompt is being answered from here on. */
export function echoPrompt(draft: Draft, prompt: WaitingPrompt) {
  const stamp = stampOf(prompt.promptId, prompt);
  const echoed = prompt.echo ? prompt.content.slice(0, PROMPT_ECHO_BLOCKS_MAX) : [];
  for (const content of echoed) draft.emit("session_update", { update: echo(content) }, stamp);
}

/** What other clients see of a prompt. Its mark tells it from an agent that repeats its user. */
function echo(content: ContentBlock): AgentUpdate {
  return { sessionUpdate: "user_message_chunk", content, _meta: { source: "bridge-echo" } };
}

export type TurnVerdict =
  | { readonly type: "turn_complete"; readonly stopReason: string }
  | {
      readonly type: "turn_error";
      readonly code: string;
      readonly message: string;
      readonly errorKind?: string;
    };

/** The verdict of a turn that the server ended, with the server's message by default. */
export function turnError(code: TurnErrorCode, message: string = TURN_ERRORS[code]): TurnVerdict {
  return { type: "turn_error", code, message };
}

export interface TurnEnd {
  readonly verdict: TurnVerdict;
  readonly to: "ready" | "error" | "deactivating";
  readonly cause: StatusCause;
  readonly asksEnd: AskEnd;
  /**
   * A `kept` turn reaches its snapshot, even if it failed and adds no message to the conversation.
   * An `abandoned` one does not: its instance ends under it, and the snapshot stays as it was.
   */
  readonly fate: "kept" | "abandoned";
  /** Whose doing it was, where the end of the turn is also the end of the session. */
  readonly stamp?: Stamp;
  /** What the workflow says of a turn that is an execution of its stages. */
  readonly ruling?: StageRuling | undefined;
}

/**
 * The one way a turn ends: its children first, then asks and tool calls closed, exactly one
 * verdict, credits settled, and only then the status, whose change forgets the turn. All of it is
 * one commit.
 */
export function endTurn(draft: Draft, end: TurnEnd) {
  const { running } = draft.session;
  if (running === null) return;
  const { turnId, stamp } = running;
  const { asksEnd } = end;
  const isLost = asksEnd === "SERVER_RESTART" || asksEnd === "STORE_FAILURE";
  const { children } = draft.session.connection.turn;
  if (children.size > 0) endChildren(draft, isLost ? asksEnd : "parent_ended");
  cancelAsks(draft, asksEnd);
  const outcome = outcomeOf(end.verdict);
  if (outcome !== "completed") closeToolCalls(draft, stamp);
  if (outcome !== "failed") draft.emit("session_update", { update: endOfText(draft) }, stamp);
  if (end.fate === "kept") draft.enter("SessionTurnEnd", { turnId, outcome }, stamp);
  if (running.stage !== undefined) executionOver(draft, running, end.verdict, end.ruling);
  pronounce(draft, running, end.verdict);
  settleCredits(draft, stamp, hasAgentsWork(running, end.verdict));
  const { to, cause } = end;
  // `waiting` has no edge to `ready`, so a verdict there takes two steps.
  if (to === "ready") draft.moveTo("running", cause, { stamp });
  draft.moveTo(to, cause, { stamp: end.stamp ?? stamp });
  if (end.fate === "kept") draft.enter("SessionPersisted", { turnId }, stamp);
}

function outcomeOf(verdict: TurnVerdict): TurnOutcome {
  if (verdict.type === "turn_error") return "failed";
  return verdict.stopReason === "cancelled" ? "cancelled" : "completed";
}

/**
 * The verdict of a prompt, and then the notice of its end if its waiting was announced. A verdict
 * without its words would be ignored by clients, so an agent that gives none gets ours.
 */
export function pronounce(
  draft: Draft,
  prompt: WaitingPrompt | RunningPrompt,
  verdict: TurnVerdict,
  notice: "after" | "none" = "after",
) {
  const { promptId, waited } = prompt;
  const stamp = stampOf(promptId, prompt);
  const ran = "turnId" in prompt;
  if (!ran && prompt.stage !== undefined) stageRefused(draft, prompt, verdict);
  const cost = ran ? costOf(draft.session.connection.turn, hasAgentsWork(prompt, verdict)) : {};
  const about = ran ? { promptId, turnId: prompt.turnId, ...cost } : { promptId };
  if (verdict.type === "turn_complete") {
    const stopReason = verdict.stopReason || "end_turn";
    const branchPoint = ran && stopReason === "end_turn" && branchPointAt(prompt.turnId);
    draft.emit(
      "turn_complete",
      { stopReason, ...about, ...(branchPoint && { branchPoint }) },
      stamp,
    );
  } else {
    const { code, errorKind } = verdict;
    const message = verdict.message || "The agent gave no reason.";
    const partialOutput = ran && draft.session.connection.turn.hasOutput;
    const more = { ...(errorKind && { errorKind }), ...(partialOutput && { partialOutput }) };
    draft.emit("turn_error", { code, message, ...about, ...more }, stamp);
  }
  if (waited && notice === "after") {
    draft.emit("pending_prompt_completed", { promptId, state: "completed" }, stamp);
  }
  // What its agent took into the turn ended with it, and the same way.
  if (ran) for (const taken of prompt.taken ?? []) pronounce(draft, taken, verdict);
}

/** Clients branch at a turn by the names that the original server gives it: a turn has one. */
function branchPointAt(turnId: TurnId) {
  return { assistantRecordUuid: turnId, checkpointUuid: turnId };
}

/**
 * The end of the text. Clients take a chunk with `_meta` for the end of an answer
 * and look into it for what the turn has used.
 */
function endOfText({ session }: Draft): AgentUpdate {
  const tokens = session.connection.turn.lastContextUsage?.tokens ?? null;
  const usage = tokens && {
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    totalTokens: tokens.input + tokens.output,
    cachedReadTokens: tokens.cachedRead,
    thoughtTokens: tokens.thought,
  };
  return {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "" },
    _meta: { source: "turn-end", ...(usage && { usage }) },
  };
}

/**
 * The agent cannot go on with the prompt, so its children end; then one event says so, and none if
 * it was stopped before.
 */
export function forwardFailed(draft: Draft) {
  const { running } = draft.session;
  if (running === null || running.stopCause !== null) return;
  endChildren(draft, "parent_ended");
  draft.emit("prompt_cancelled", { reason: "forward_failed" }, running.stamp);
}

/** Every open ask ends with the turn, or with the request to stop it. */
export function cancelAsks(draft: Draft, reason: AskEnd) {
  for (const ask of draft.session.connection.turn.openAsks.values()) {
    const { requestId } = ask;
    const resolved = { requestId, outcome: CANCELLED, reason };
    draft.emit("permission_resolved", resolved, askStamp(draft.session, ask));
  }
}

/** Fails the open tool calls, so that no client shows one as running after its agent is gone. */
function closeToolCalls(draft: Draft, stamp: Stamp) {
  for (const toolCallId of draft.session.connection.turn.pendingToolCalls.keys()) {
    const update = {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "failed",
      _meta: { source: "turn-end", cancelled: true },
    };
    draft.emit("session_update", { update }, stamp);
  }
}

/** With its verdict, so that who hears that need not wait for the settlement. */
function costOf(turn: TurnState, isCompleted: boolean): { readonly cost?: TurnCost } {
  const settlement = settlementOf(turn, isCompleted);
  if (settlement === null || turn.currentReservation?.price === null) return {};
  const { chargedMicro, usage } = settlement;
  return { cost: { chargedMicro, ...usage } };
}

/** Whether its agent has done it: a stage may come to its end without a word to the agent. */
function hasAgentsWork({ stage }: RunningPrompt, verdict: TurnVerdict): boolean {
  return stage === undefined && outcomeOf(verdict) === "completed";
}

function settlementOf(turn: TurnState, isCompleted: boolean) {
  const { currentReservation } = turn;
  if (currentReservation === null) return null;
  const isUnknown = isUsageUnknown(turn, isCompleted);
  const usage = isUnknown ? { usage: "unknown" as const } : {};
  return { ...settle(currentReservation, isUnknown), usage };
}

function settleCredits(draft: Draft, stamp: Stamp, isCompleted: boolean) {
  const { turn } = draft.session.connection;
  const reservation = turn.currentReservation;
  const settlement = settlementOf(turn, isCompleted);
  if (reservation === null || settlement === null) return;
  const { turnId, slices, price } = reservation;
  // A slice may be on its way under the next number; what was overspent takes the one after.
  const n = slices + 1;
  const { furtherMicro, chargedMicro, releasedMicro, usage } = settlement;
  if (furtherMicro > 0) {
    draft.emit("credits_reserved", { turnId, n, amountMicro: furtherMicro, price }, stamp);
  }
  const reservedMicro = reservation.reservedMicro + furtherMicro;
  const settled: EventData["credits_settled"] = {
    turnId,
    reservedMicro,
    chargedMicro,
    releasedMicro,
    ...usage,
  };
  draft.emit("credits_settled", settled, stamp);
}

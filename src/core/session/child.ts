import { type AgentUpdate, parentToolCallId } from "../agent-update.ts";
import type { ChildId } from "../id.ts";
import { type JsonObject, objectAt, stringAt } from "../json.ts";
import { CHILD_RESULT_BYTES_MAX } from "../limits.ts";
import { addCounts, type TokenUsage } from "../price.ts";
import { cutText, utf8Bytes } from "../text.ts";
import type { Child, ChildState, TurnState } from "../turn.ts";
import type { Session } from "./state.ts";

/** Why a child did not end by itself: the state that it comes to, and the sentence for it. */
const CHILD_ERRORS = {
  parent_cancelled: ["Aborted", "The turn that delegated this was cancelled."],
  parent_ended: ["Aborted", "The turn that delegated this ended first."],
  call_withdrawn: ["Aborted", "The agent that delegated this took its call back."],
  channel_closed: ["Aborted", "The agent of the child exited."],
  agent_unavailable: ["Aborted", "The agent of the child could not be started."],
  turn_failed: ["Aborted", "The agent of the child gave up."],
  SERVER_RESTART: ["Aborted", "The server was restarted while the child was at work."],
  STORE_FAILURE: ["Aborted", "The store failed while the child was at work."],
  no_voter: ["Halted", "A decision was needed that no user may give."],
  time_exceeded: ["Halted", "The child took longer than a child may take."],
  tokens_exceeded: ["Halted", "The child used more tokens than a child may use."],
  deadline_exceeded: ["Halted", "The deadline of the turn that delegated this passed."],
  budget_exhausted: ["Halted", "The credits for the turn that delegated this are used up."],
  turn_too_large: ["Halted", "The turn that delegated this grew past its size limit."],
  stopped_short: ["Halted", "The agent of the child stopped before it was done."],
} as const satisfies Readonly<Record<string, readonly [ChildState, string]>>;

export type ChildErrorCode = keyof typeof CHILD_ERRORS;

/** What a child comes to: exactly one for each. */
export interface ChildOutcome {
  readonly state: ChildState;
  readonly text: string;
  readonly error?: { readonly code: string; readonly message: string };
}

export function childFailure(
  code: ChildErrorCode,
  text = "",
  message: string = CHILD_ERRORS[code][1],
): ChildOutcome {
  return { state: CHILD_ERRORS[code][0], text, error: { code, message } };
}

/** The text that a child gives back: no more than its parent is given of it. */
export function childText(text: string, bytesMax: number = CHILD_RESULT_BYTES_MAX): string {
  if (utf8Bytes(text) <= bytesMax) return text;
  let charsMax = bytesMax - CUT_NOTE.length;
  // A character has up to three bytes for each of its units.
  while (utf8Bytes(cutText(text, charsMax)) > bytesMax - CUT_NOTE.length) {
    charsMax = Math.floor((charsMax * 9) / 10);
  }
  return cutText(text, charsMax) + CUT_NOTE;
}

const CUT_NOTE = "\n[The rest of this text was cut: it is longer than a child may give back.]";

export function isOpen({ ended }: Child): boolean {
  return ended === null;
}

/** Those that have no end yet, in the order in which they began. */
export function openChildren({ children }: Pick<TurnState, "children">): readonly Child[] {
  return [...children.values()].filter(isOpen);
}

/** The children of a session as people are shown them: the last that have ended, then the rest. */
export function shownChildren({ running, connection, pastChildren = [] }: Session) {
  const open = openChildren(connection.turn).map((child) => {
    const { childId, title, agent, model, startedAtMs } = child;
    const about = { childId, promptId: running?.promptId ?? null, title, agent, model };
    return { ...about, startedAtMs, endedAtMs: null, state: "Active" as const };
  });
  return [...pastChildren, ...open];
}

export function sumOfTokens(tokens: TokenUsage): number {
  return Object.values(tokens).reduce((sum, count) => addCounts(sum, count), 0);
}

/**
 * Kinds of updates that a child has a say in. What an agent tells of its modes, commands and title
 * is about an agent session that no client can choose anything of.
 */
const KINDS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
]);

/**
 * An update of a child as the log of its parent has it: under the child, as the work of a
 * sub-agent is under its call, and with names of calls that no other agent of the session has.
 * Null for what is not told.
 */
export function childUpdate(childId: ChildId, update: AgentUpdate): AgentUpdate | null {
  if (!KINDS.has(update.sessionUpdate)) return null;
  const inner = parentToolCallId(update);
  const under = inner === null ? childId : childCallId(childId, inner);
  const _meta = { ...objectAt(update, "_meta"), parentToolCallId: under };
  return { ...withChildCall(childId, update), sessionUpdate: update.sessionUpdate, _meta };
}

/** What names a tool call, with the name that the call of a child has. */
export function withChildCall<Call extends JsonObject>(childId: ChildId, call: Call): Call {
  const toolCallId = stringAt(call, "toolCallId");
  return toolCallId === null ? call : { ...call, toolCallId: childCallId(childId, toolCallId) };
}

function childCallId(childId: ChildId, toolCallId: string): string {
  return `${childId}/${toolCallId}`;
}

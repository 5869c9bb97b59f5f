import { type AgentUpdate, chunkText } from "./agent-update.ts";
import type { AskId, TurnId } from "./id.ts";
import { stringAt } from "./json.ts";
import { AGENT_NAME_CHARS_MAX, MESSAGE_ID_STACK_MAX } from "./limits.ts";
import type { Ask } from "./policy/ask.ts";
import type { AutonomyProfile, RiskTier } from "./policy/risk.ts";
import type { SessionEvent } from "./session/event.ts";
import type { Session } from "./session/state.ts";
import { hasTurn, type SessionState } from "./status.ts";
import type {
  AgentMode,
  ContextUsage,
  CreditReservation,
  PendingToolCall,
  SandboxState,
} from "./turn.ts";

/**
 * A live session as one flat record of 23 fields, under published names. The core decides with
 * less (see `Connection`); this is a view of that, and of the log for what only the log holds.
 */
export interface ConnectionState {
  // Turn tracking
  readonly turnId: TurnId | null;
  readonly fullContent: string;
  /** A client or the server asked the turn to stop. */
  readonly stopRequested: boolean;
  /** The agent has stopped. Its word ends the turn at once, so no decided session shows true. */
  readonly turnStopped: boolean;

  // Tool calls
  readonly pendingToolCalls: ReadonlyMap<string, PendingToolCall>;
  readonly completedToolIds: ReadonlySet<string>;
  readonly persistedToolCallIds: ReadonlySet<string>;

  // Thinking
  readonly isThinking: boolean;
  readonly thinkingContent: string;

  // Interactive flow
  readonly deferredInteractiveMessage: DeferredInteractiveMessage | null;
  /** One of the open asks is a permission. */
  readonly pendingApproval: boolean;

  // Billing
  readonly currentReservation: CreditReservation | null;
  readonly lastContextUsage: ContextUsage | null;

  // Sequencing
  /** Ids of the agent's messages, innermost last. Nesting may outlive a turn. */
  readonly messageIdStack: readonly string[];
  /** The agent has answered anything at all to this prompt. */
  readonly acked: boolean;

  // Session state
  readonly sessionState: SessionState;

  // Approvals
  readonly sessionGrants: ReadonlyMap<string, RiskTier>;
  readonly autonomyProfile: AutonomyProfile;
  readonly pendingGitHubAction: PendingGitHubAction | null;

  readonly agentMode: AgentMode;

  // Sandbox
  readonly sandboxState: SandboxState;
  readonly sandboxProvisionedAt: number | null;
  readonly lastSandboxActivity: number | null;
}

/** The open asks. Never empty: without open asks the field is null. */
export type DeferredInteractiveMessage = ReadonlyMap<AskId, Ask>;

/** An open ask whose tool reaches out to GitHub, which undoing here cannot take back. */
export interface PendingGitHubAction {
  readonly requestId: AskId;
  readonly title: string;
}

/**
 * The view of a session. `log` holds the session's events up to now and reaches back to the start
 * of its instance. A shorter log shows less of `messageIdStack`; one that does not reach back to
 * the start of the turn shows less of its text.
 */
export function connectionStateOf(
  { connection, running }: Session,
  log: readonly SessionEvent[],
): ConnectionState {
  const { turn, ...rest } = connection;
  const { openAsks, hasOutput: _, hasThought: _thought, children: _children, ...kept } = turn;
  const asks = [...openAsks.values()];
  return {
    ...rest,
    ...kept,
    ...spokenIn(log),
    stopRequested: running !== null && running.stopCause !== null,
    turnStopped: false,
    deferredInteractiveMessage: openAsks.size === 0 ? null : openAsks,
    pendingApproval: asks.some(({ kind }) => kind === "permission"),
    pendingGitHubAction: asks.map(gitHubAction).find((action) => action !== null) ?? null,
  };
}

/** The boundary between turns: clears the fifteen fields of a turn, and leaves the other eight. */
export function resetTurnState(state: ConnectionState): ConnectionState {
  return {
    ...state,
    turnId: null,
    fullContent: "",
    stopRequested: false,
    turnStopped: false,
    pendingToolCalls: new Map(),
    completedToolIds: new Set(),
    persistedToolCallIds: new Set(),
    isThinking: false,
    thinkingContent: "",
    deferredInteractiveMessage: null,
    pendingApproval: false,
    currentReservation: null,
    lastContextUsage: null,
    acked: false,
    pendingGitHubAction: null,
  };
}

const GITHUB_TOOL = /\bgithub\b|^gh /i;

function gitHubAction({ requestId, toolCall }: Ask): PendingGitHubAction | null {
  const title = stringAt(toolCall, "title") ?? "";
  return GITHUB_TOOL.test(title) ? { requestId, title } : null;
}

type Spoken = Pick<
  ConnectionState,
  "fullContent" | "isThinking" | "thinkingContent" | "acked" | "messageIdStack"
>;

const SILENT = { fullContent: "", isThinking: false, thinkingContent: "", acked: false };

/** What the agent has said in the present turn, and in which message. */
function spokenIn(log: readonly SessionEvent[]): Spoken {
  let spoken: Spoken = { ...SILENT, messageIdStack: [] };
  let isInTurn = false;
  for (const { type, data, childId } of log) {
    if (childId !== undefined) continue; // A child speaks for itself.
    if (type === "session_update" && isInTurn) spoken = withUpdate(spoken, data.update);
    const starts = type === "session_lifecycle" && data.event === "SessionTurnStart";
    const ends = type === "session_status" && hasTurn(data.from) && !hasTurn(data.to);
    if (starts || ends) {
      spoken = { ...spoken, ...SILENT };
      isInTurn = starts;
    }
    const isOver = type === "session_lifecycle" && data.event === "SessionClosed";
    if (isOver) spoken = { ...spoken, messageIdStack: [] };
  }
  return spoken;
}

function withUpdate(spoken: Spoken, update: AgentUpdate): Spoken {
  const text = chunkText(update) ?? "";
  switch (update.sessionUpdate) {
    case "user_message_chunk":
    case "shell_output":
      return spoken; // What people say does not mean that the agent has answered.
    case "agent_message_chunk": {
      const messageIdStack = withMessageId(spoken.messageIdStack, update.messageId);
      const fullContent = spoken.fullContent + text;
      return { ...spoken, fullContent, messageIdStack, isThinking: false, acked: true };
    }
    case "agent_thought_chunk": {
      const thinkingContent = spoken.thinkingContent + text;
      return { ...spoken, thinkingContent, isThinking: true, acked: true };
    }
    case "tool_call":
    case "tool_call_update":
      return { ...spoken, isThinking: false, acked: true };
    default:
      return { ...spoken, acked: true };
  }
}

function withMessageId(stack: readonly string[], id: unknown): readonly string[] {
  if (typeof id !== "string" || id.length > AGENT_NAME_CHARS_MAX) return stack;
  const known = stack.indexOf(id);
  const nested = known < 0 ? [...stack, id] : stack.slice(0, known + 1);
  return nested.slice(-MESSAGE_ID_STACK_MAX);
}

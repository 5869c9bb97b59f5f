import type { AskId, TurnId } from "./id.ts";
import type { Ask } from "./policy/ask.ts";
import type { AutonomyProfile, RiskTier } from "./policy/risk.ts";
import type { Price, TokenUsage } from "./price.ts";
import type { SessionState } from "./status.ts";

/**
 * The live state of one session (seed 003's ConnectionState): 23 fields in seven domains, here as
 * one immutable value. Fifteen of them belong to a turn and live in `TurnState`, which is replaced
 * whole at the turn's end, so that nothing of one turn can be seen in the next.
 */
export interface ConnectionState {
  readonly turn: TurnState;

  // Sequencing: ids of the agent's messages, innermost last. Nesting may outlive a turn.
  readonly messageIdStack: readonly string[];

  // Session lifecycle
  readonly sessionState: SessionState;
  readonly sessionGrants: ReadonlyMap<string, RiskTier>;
  readonly autonomyProfile: AutonomyProfile;
  readonly agentMode: AgentMode;
  readonly sandboxState: SandboxState;
  readonly sandboxProvisionedAt: number | null;
  readonly lastSandboxActivity: number | null;
}

export interface TurnState {
  // Turn tracking
  readonly turnId: TurnId | null;
  readonly fullContent: string;
  /** Somebody asked for the turn to stop. */
  readonly stopRequested: boolean;
  /** The agent has said that it stopped. */
  readonly turnStopped: boolean;

  // Tool lifecycle: announced and open; ended by the agent; announced at all, so in the log.
  readonly pendingToolCalls: ReadonlyMap<string, PendingToolCall>;
  readonly completedToolIds: ReadonlySet<string>;
  readonly persistedToolCallIds: ReadonlySet<string>;

  // Thinking
  readonly isThinking: boolean;
  readonly thinkingContent: string;

  // Interactive flow: the asks that people have yet to answer, and whether one is a permission.
  readonly deferredInteractiveMessage: DeferredInteractiveMessage | null;
  readonly pendingApproval: boolean;
  readonly pendingGitHubAction: PendingGitHubAction | null;

  // Billing
  readonly currentReservation: CreditReservation | null;
  readonly lastContextUsage: ContextUsage | null;

  /** Sequencing: the agent has answered anything at all to this prompt. */
  readonly acked: boolean;
}

/** The agent's own ACP mode, as somebody explicitly chose it; null is the agent's default. */
export type AgentMode = string | null;

export type SandboxState = "none" | "provisioning" | "ready" | "timed_out";

export interface PendingToolCall {
  readonly toolName: string;
  readonly startedAt: number;
}

/** Never empty: without open asks the field is null. */
export type DeferredInteractiveMessage = ReadonlyMap<AskId, Ask>;

/** An open ask whose tool reaches out to GitHub, which undoing here cannot take back. */
export interface PendingGitHubAction {
  readonly requestId: AskId;
  readonly title: string;
}

export interface CreditReservation {
  readonly turnId: TurnId;
  readonly reservedMicro: number;
  /** How many `reserve` entries the ledger has for this turn: the next one's number. */
  readonly slices: number;
  /** Fixed for the turn, so that a change of the price table in mid-turn changes nothing. */
  readonly price: Price | null;
  /** What the usage reported so far costs at that price. */
  readonly spentMicro: number;
  /** Which model that price is for, null if nobody knew; absent in logs that did not tell. */
  readonly model?: string | null;
}

export interface ContextUsage {
  readonly model: string | null;
  /** Tokens in the agent's context window, and how many it can hold; null if it does not say. */
  readonly used: number | null;
  readonly size: number | null;
  /** Tokens of this turn so far, all its model calls together. */
  readonly tokens: TokenUsage;
}

export const EMPTY_TURN: TurnState = {
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
  pendingGitHubAction: null,
  currentReservation: null,
  lastContextUsage: null,
  acked: false,
};

/** The boundary between turns. Settle first: this also forgets the reservation. */
export function resetTurnState(connection: ConnectionState): ConnectionState {
  return { ...connection, turn: EMPTY_TURN };
}

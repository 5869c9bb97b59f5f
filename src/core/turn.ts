import type { AskId, ChildId, PromptId, TurnId } from "./id.ts";
import { SANDBOX_IDLE_MS_MAX, SANDBOX_PROVISIONING_MS_MAX } from "./limits.ts";
import type { Permit } from "./policy/access.ts";
import type { Ask } from "./policy/ask.ts";
import type { AutonomyProfile, RiskTier } from "./policy/risk.ts";
import type { Price, TokenUsage } from "./price.ts";
import type { SessionState } from "./status.ts";

/** The session's agent: its status, what people allow it, and the turn that it works on. */
export interface Connection {
  readonly turn: TurnState;
  readonly sessionState: SessionState;
  readonly sessionGrants: ReadonlyMap<string, RiskTier>;
  readonly autonomyProfile: AutonomyProfile;
  readonly agentMode: AgentMode;
  readonly sandboxState: SandboxState;
  readonly sandboxProvisionedAt: number | null;
  readonly lastSandboxActivity: number | null;
}

/** Replaced whole at the turn's end, so that no turn can see anything of the one before it. */
export interface TurnState {
  readonly turnId: TurnId | null;
  /** The agent has said some text, so a failed turn has partial output. */
  readonly hasOutput: boolean;
  /** The agent has thought or planned, which its model was paid for. Absent if it has not. */
  readonly hasThought?: boolean;

  // Tool calls: announced and open; ended by the agent; announced at all.
  readonly pendingToolCalls: ReadonlyMap<string, PendingToolCall>;
  readonly completedToolIds: ReadonlySet<string>;
  readonly persistedToolCallIds: ReadonlySet<string>;

  /** The asks that people have yet to answer. */
  readonly openAsks: ReadonlyMap<AskId, Ask>;

  readonly currentReservation: CreditReservation | null;
  readonly lastContextUsage: ContextUsage | null;

  /** All child sessions of this turn, in the order in which they began; ended ones as well. */
  readonly children: ReadonlyMap<ChildId, Child>;
}

/**
 * A child session: an agent at work on a task that the session's own agent has delegated. It is
 * part of the turn, and never outlives it.
 */
export interface Child {
  readonly childId: ChildId;
  /** The call that it answers: a repeat of the call is about the same child. */
  readonly callId: string;
  readonly title: string;
  readonly agent: string;
  readonly model: string | null;
  readonly startedAtMs: number;
  readonly deadlineAtMs: number;
  readonly rules: ChildRules;
  /** What was answered to its calls; it has no part in what was answered to others. */
  readonly permits: readonly Permit[];
  /** Its tool calls without an end. */
  readonly openCalls: ReadonlySet<string>;
  /** It has shown some work, for which its model was paid. */
  readonly hasWorked: boolean;
  /** Its tool calls so far. Absent while there are none. */
  readonly calls?: number;
  readonly price: Price | null;
  readonly usage: ContextUsage | null;
  readonly spentMicro: number;
  readonly ended: ChildState | null;
}

/**
 * How a child ended: by itself; because a limit was reached, or a decision was needed for which
 * there are no voters; or because it was called off, or failed.
 */
export type ChildState = (typeof CHILD_STATES)[number];

export const CHILD_STATES = ["Closed", "Halted", "Aborted"] as const;

/** A child session that is over, as people are shown it. */
export interface PastChild
  extends Pick<Child, "childId" | "title" | "agent" | "model" | "startedAtMs"> {
  readonly promptId: PromptId;
  readonly endedAtMs: number;
  readonly state: ChildState;
}

/** What its parent was set to when the child began: later settings of the parent widen nothing. */
export interface ChildRules {
  readonly autonomyProfile: AutonomyProfile;
  readonly isPlanning: boolean;
  readonly grants: ReadonlySet<string>;
  /** Writes, commands and what is of an unknown kind are refused. */
  readonly readOnly: boolean;
}

/** The agent's own ACP mode, as a client explicitly chose it; null is the agent's default. */
export type AgentMode = string | null;

export type SandboxState = "none" | "provisioning" | "ready" | "timed_out";

export interface PendingToolCall {
  readonly toolName: string;
  readonly startedAt: number;
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
  /** Which model that price is for, null if unknown; absent in older logs. */
  readonly model?: string | null;
  /** What was set aside when the turn began: what a usual turn costs. Absent in older logs. */
  readonly estimateMicro?: number;
}

export interface ContextUsage {
  readonly model: string | null;
  /** Tokens in the agent's context window, and how many it can hold; null if it does not say. */
  readonly used: number | null;
  readonly size: number | null;
  /** Tokens of this turn so far, all its model calls together. */
  readonly tokens: TokenUsage;
  /** Absent if the tokens are those of the whole turn so far. */
  readonly figures?: MissingFigures;
  /** What the turn has cost so far, as the agent says: one US dollar is one credit. */
  readonly costMicro?: number;
  /** The agent's profile says that its cost counts, and not its tokens. */
  readonly decidedBy?: "cost";
}

/** What the agent tells of tokens and cost, without how full its context is. */
export type UsageFigures = Omit<ContextUsage, "used" | "size">;

/** The agent tells no tokens of the turn, or those of some of its model calls only. */
export type MissingFigures = "none" | "partial";

export const EMPTY_TURN: TurnState = {
  turnId: null,
  hasOutput: false,
  pendingToolCalls: new Map(),
  completedToolIds: new Set(),
  persistedToolCallIds: new Set(),
  openAsks: new Map(),
  currentReservation: null,
  lastContextUsage: null,
  children: new Map(),
};

/** All that a sandbox can be, as its operator reports. */
export const SANDBOX_STATES = [
  "none",
  "provisioning",
  "ready",
  "timed_out",
] as const satisfies readonly SandboxState[];

/**
 * When a sandbox counts as timed out if nothing is reported of it until then; null if never. A tool
 * call that is open is work, however long it says nothing.
 */
export function sandboxDueAtMs(connection: Connection): number | null {
  const { sandboxState, lastSandboxActivity, turn } = connection;
  if (lastSandboxActivity === null) return null;
  if (sandboxState === "provisioning") return lastSandboxActivity + SANDBOX_PROVISIONING_MS_MAX;
  const isIdle = sandboxState === "ready" && turn.pendingToolCalls.size === 0;
  return isIdle ? lastSandboxActivity + SANDBOX_IDLE_MS_MAX : null;
}

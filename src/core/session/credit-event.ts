import type { TurnId, UserId } from "../id.ts";
import type { BudgetPeriod, CreditScope } from "../ledger.ts";
import type { Price } from "../price.ts";
import type { ContextUsage } from "../turn.ts";

/** Why the figures of an agent are doubted. */
const SUSPECT_REASONS = [
  "invalid",
  "fell",
  "jumped",
  "unknown_start",
  "currency",
  "model_without_price",
  "cost_disagrees",
  "sum_repeated",
  "after_verdict",
] as const;

export type SuspectReason = (typeof SUSPECT_REASONS)[number];

/** What can have happened to the credits of a turn. */
export interface CreditEvents {
  credits_reserved: Reserved;
  credits_settled: Settled;
  usage_reported: UsageReported;
}

/** With the price of the model that the agent says it has used, where the turn had another. */
interface UsageReported {
  turnId: TurnId;
  usage: ContextUsage;
  price?: Price;
}

interface Reserved {
  turnId: TurnId;
  n: number;
  amountMicro: number;
  price: Price | null;
  /** With the first of a turn: the model that was to be paid for, null if unknown. */
  model?: string | null;
}

/** What the head of the queue waits for, as a prompt would be refused for want of it. */
export interface CreditWait {
  code: "insufficient_credits" | "price_unknown";
  /** The limit that leaves too little, what is needed, and what is left. */
  scope?: CreditScope;
  /** Of a budget: what it counts, and when one of a month is renewed. */
  period?: BudgetPeriod;
  renewsAt?: string;
  neededMicro?: number;
  availableMicro?: number;
  /** What has no known price. */
  agent?: string;
  model?: string;
}

/** How much of a budget is used. */
export interface BudgetFigures {
  usedMicro: number;
  budgetMicro: number;
}

/**
 * Nearly all of a budget is used. Only that of the session has figures here: those who read the
 * log may not read the credits of the tenant, or of another user.
 */
export interface BudgetWarning {
  scope: "session" | "user" | "tenant";
  period?: BudgetPeriod;
  /** Of the budget of a user: whose it is. */
  userId?: UserId;
  usedMicro?: number;
  budgetMicro?: number;
  renewsAt?: string;
}

/** Figures of an agent that cannot be right, or that contradict each other. */
export interface UsageSuspicion {
  reason: SuspectReason;
  /** What was reported, and what was made of it, for people. */
  detail: string;
  turnId?: TurnId;
}

/** What a turn with a price has cost, in millionths of a credit. */
export interface TurnCost {
  readonly chargedMicro: number;
  /** Where the price is by tokens and the agent did not tell them: the reserve was charged. */
  readonly usage?: "unknown";
}

interface Settled extends TurnCost {
  turnId: TurnId;
  reservedMicro: number;
  releasedMicro: number;
}

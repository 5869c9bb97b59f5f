import type { TurnId } from "../id.ts";
import type { CreditScope } from "../ledger.ts";
import type { Price } from "../price.ts";
import type { ContextUsage } from "../turn.ts";

/** What can have happened to the credits of a turn. */
export interface CreditEvents {
  credits_reserved: Reserved;
  credits_settled: Settled;
  usage_reported: { turnId: TurnId; usage: ContextUsage };
}

interface Reserved {
  turnId: TurnId;
  n: number;
  amountMicro: number;
  price: Price | null;
  /** With the first of a turn: the model that was to be paid for, null if nobody knew. */
  model?: string | null;
}

/** What the head of the queue waits for, as a prompt would be refused for want of it. */
export interface CreditWait {
  code: "insufficient_credits" | "price_unknown";
  /** The limit that leaves too little, what is needed, and what is left. */
  scope?: CreditScope;
  neededMicro?: number;
  availableMicro?: number;
  /** What nobody knows the price of. */
  agent?: string;
  model?: string;
}

interface Settled {
  turnId: TurnId;
  reservedMicro: number;
  chargedMicro: number;
  releasedMicro: number;
}

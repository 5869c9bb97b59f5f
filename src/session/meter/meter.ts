import type { TenantId, TurnId, UserId } from "../../core/id.ts";
import type { Account, BudgetPeriod } from "../../core/ledger.ts";
import type { Price } from "../../core/price.ts";
import type { Result } from "../../core/result.ts";
import type { BudgetFigures } from "../../core/session/credit-event.ts";
import type { Announcements } from "../../core/session/event.ts";
import type { Session } from "../../core/session/state.ts";
import type { UsageFigures } from "../../core/turn.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { JournalEntry, SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import type { Steward } from "../audit/entries.ts";
import type { Allowance, BudgetScope, Use, Weighing } from "./allowance.ts";
import type { MonthUse } from "./month-sums.ts";
import type { StatementPage, StatementQuery, UsageQuery, UsageReport } from "./usage.ts";

/** Whose turn credits are wanted for, and what is known of what it will cost. */
export interface ReservationRequest {
  readonly key: SessionKey;
  readonly turnId: TurnId;
  readonly userId: UserId | null;
  readonly agent: string;
  readonly model: string | null;
  /** What the session may cost in all, and what its turns have cost and set aside so far. */
  readonly budgetMicro: number | null;
  readonly usedMicro: number;
  readonly heldMicro: number;
  /** What the session may cost in a calendar month; the ledger knows what it has. */
  readonly monthBudgetMicro: number | null;
  /** True for a question beside the session, of which the session's log knows nothing. */
  readonly isAside: boolean;
}

/** What a turn begins with. */
export interface TurnCredit {
  readonly reservedMicro: number;
  /** Null is unknown, which is refused where any limit applies. */
  readonly price: Price | null;
  /** Which model that price is for, as far as it is known. */
  readonly model: string | null;
}

export interface Slice {
  readonly n: number;
  readonly price: Price | null;
  /** What the turn has spent beyond what it holds. */
  readonly missingMicro: number;
}

/** What a question beside a session has used, as far as its agent has told. */
export type AsideUse = UsageFigures;

export type CreditWarning = Announcements["credits_warning"] & BudgetFigures;

/** What live sessions need of the ledger. The session's log is the commit point of it all. */
interface TurnMeter {
  /**
   * Sets credits aside for a turn that is about to begin. It answers at once where nothing has to
   * be weighed. The caller says what became of the turn: `begun` if it began, else `giveBack`.
   */
  reserve(order: ReservationRequest): Result<TurnCredit> | Promise<Result<TurnCredit>>;
  /** Whether such a turn could begin, without setting anything aside. */
  afford(order: ReservationRequest, when?: Weighing): Promise<Result<void>>;
  /** Whether nothing has to be weighed for it: then there are no slices either. */
  isFree(order: ReservationRequest): boolean;
  /** What the tokens of a model cost in such an agent; null if that is not known. */
  priceOf(agent: string, model: string | null): Price | null;
  /** More for a turn at work; answers how much. */
  slice(order: ReservationRequest, slice: Slice): Promise<Result<number>>;
  /** The turn did not begin, or a slice came too late for it: what it holds is free again. */
  giveBack(key: SessionKey, turnId: TurnId): Promise<void>;
  /** The same, unless the turn has begun after all. */
  giveBackUnbegun(key: SessionKey, turnId: TurnId): Promise<void>;
  /** It is unknown whether it began; the session's log tells when it is opened. */
  leave(turnId: TurnId): void;
  /** The log has the beginning of this turn: its reservation is not pending any more. */
  begun(turnId: TurnId): void;
  /** The ledger's share in a commit: what a verdict settles, in one piece with the verdict. */
  entries(
    key: SessionKey,
    before: Session | null,
    written: readonly Written[],
  ): readonly JournalEntry[];
  /** A settlement is durable. Answers which budgets of the tenant and the user it brought near. */
  settled(key: SessionKey): Promise<readonly CreditWarning[]> | null;
  /**
   * A question beside a session is over: what it has used is charged, and the rest is free again.
   * No log has a verdict of it, so this is its settlement. Answers what was charged.
   */
  settleAside(order: ReservationRequest, credit: TurnCredit, use: AsideUse): Promise<number>;
  /** What was asked beside a session has used of its budget. */
  usedBeside(key: SessionKey): Promise<Result<Use>>;
  /** What was charged for a session in this month, for its turns and for what was asked beside. */
  usedThisMonth(key: SessionKey): Promise<Result<MonthUse>>;
  /** Calls once, when there may be more to spend than there was. */
  whenRaised(tenantId: TenantId, act: () => void): CallOff;
  /** A session was opened: reservations of turns that it does not have are released. */
  opened(key: SessionKey, session: Session): Promise<void>;
}

/** What people ask of the ledger. */
export interface CreditOffice {
  balance(tenantId: TenantId): Promise<Result<Balance>>;
  /** The same id with the same words is the same grant. */
  grant(tenantId: TenantId, grant: Grant): Promise<Result<Balance>>;
  /** Takes all of a grant back; a grant that was taken back already stays so. */
  revoke(tenantId: TenantId, revocation: Omit<Grant, "amountMicro">): Promise<Result<Balance>>;
  /** What a user may spend and has; of a caller that is no user, the whole tenant. */
  ownUse(tenantId: TenantId, userId: UserId | null): Promise<Result<OwnUse>>;
  setLimit(tenantId: TenantId, limit: Account["limit"], by: Steward): Promise<Result<Balance>>;
  /** Null takes the budget away. */
  setBudget(
    tenantId: TenantId,
    scope: BudgetScope,
    budgetMicro: number | null,
    by: Steward,
  ): Promise<Result<Balance>>;
  statement(tenantId: TenantId, wish: StatementQuery): Promise<Result<StatementPage>>;
  usage(tenantId: TenantId, wish: UsageQuery): Promise<Result<UsageReport>>;
}

export interface Meter extends TurnMeter, CreditOffice {
  /**
   * Brings all accounts up to date with what others wrote, and finds reservations without a turn.
   * `look` opens a session, or says that there is none.
   */
  sweep(look: (key: SessionKey) => Promise<Result<Session>>): Promise<void>;
  /**
   * Does something to a tenant while nothing is written to its ledger. Afterwards nothing is known
   * of that: the next caller is told what the store has then.
   */
  without<Value>(tenantId: TenantId, act: () => Promise<Value>): Promise<Value>;
}

export interface Grant {
  readonly id: string;
  readonly amountMicro: number;
  readonly note: string | null;
  readonly by: Steward;
}

export interface Balance {
  /** Null where no owner has set it, and the server's default is not known here. */
  readonly limit: Allowance["limit"];
  /** Null where there is no limit to be left under. */
  readonly availableMicro: number | null;
  readonly grantedMicro: number;
  readonly chargedMicro: number;
  readonly openMicro: number;
  readonly openTurns: number;
  readonly month: MonthTotal;
  readonly budgets: readonly BudgetUse[];
}

/** What was charged in a calendar month, UTC. */
export interface MonthTotal {
  /** As in `2026-11`. */
  readonly name: string;
  readonly chargedMicro: number;
  readonly renewsAt: string;
}

/** A budget, and what was charged and is reserved of it. */
export interface BudgetUse {
  /** `tenant`, or `user:NAME`. */
  readonly scope: string;
  readonly period: BudgetPeriod;
  readonly budgetMicro: number;
  readonly usedMicro: number;
  /** Never less than zero. */
  readonly leftMicro: number;
  /** Of a monthly budget. */
  readonly renewsAt?: string;
}

/** What one user may spend and has spent. */
export interface OwnUse {
  /** Null for a caller that is no user. */
  readonly user: UserId | null;
  readonly month: MonthTotal;
  readonly total: { readonly chargedMicro: number };
  readonly openMicro: number;
  readonly budgets: readonly BudgetUse[];
  /** By the tightest of their budgets; null where they have none. */
  readonly leftMicro: number | null;
}

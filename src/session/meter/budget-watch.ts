import type { SessionId, UserId } from "../../core/id.ts";
import { type BudgetPeriod, type CreditLimit, limitDetails } from "../../core/ledger.ts";
import { type Month, monthOf } from "../../core/month.ts";
import type { Command } from "../../core/session/command.ts";
import type { Session } from "../../core/session/state.ts";
import type { SessionKey } from "../../store/store.ts";
import type { SessionWorld } from "../world.ts";
import { type Allowance, usedByTurns, usedInAll } from "./allowance.ts";
import type { StatementLine } from "./entry.ts";
import type { CreditWarning } from "./meter.ts";
import type { Sums } from "./sums.ts";

/** What is watched, and who is told. */
interface WatchedSession {
  readonly key: SessionKey;
  /** As decided so far, which may be more than is durable. */
  readonly decided: Session;
}

/**
 * Sees when a session's own budget comes near, by what its turns and what is asked beside it were
 * charged; and what the ledger has found out about the budgets of its tenant and its users.
 */
export class BudgetWatch {
  readonly #world: SessionWorld;
  readonly #session: WatchedSession;
  readonly #announce: (warning: CreditWarning) => void;
  /** What was charged when each budget was last looked at; without an entry it has not been. */
  readonly #seen = new Map<"total" | Month, number>();

  constructor(
    world: SessionWorld,
    session: WatchedSession,
    announce: (warning: CreditWarning) => void,
  ) {
    this.#world = world;
    this.#session = session;
    this.#announce = announce;
  }

  /** So much was charged just now, for a turn or beside it. */
  async charged(amountMicro: number): Promise<void> {
    for (const look of [await this.#lookAtAll(), await this.#lookAtMonth()]) {
      if (look === null) continue;
      const { of, chargedMicro, budgetMicro } = look;
      const before = this.#seen.get(of) ?? chargedMicro - amountMicro;
      this.#see(look);
      this.#tell(warningOf(limitOf(of), budgetMicro, before, chargedMicro));
    }
    const others = await this.#world.meter.settled(this.#session.key);
    for (const warning of others ?? []) this.#announce(warning);
  }

  /** It has another budget, of which it may have used nearly all already. */
  async budgetSet(period: BudgetPeriod, toMicro: number | null): Promise<void> {
    this.#forget(period);
    const look = await (period === "month" ? this.#lookAtMonth() : this.#lookAtAll());
    // If it is yet another one by now, that is looked at for itself.
    if (look === null || look.budgetMicro !== toMicro) return;
    this.#see(look);
    this.#tell(standingWarningOf(limitOf(look.of), look.budgetMicro, look.chargedMicro));
  }

  /** Of past months nothing is remembered. */
  #see({ of, chargedMicro }: Look) {
    this.#forget(of === "total" ? "total" : "month");
    this.#seen.set(of, chargedMicro);
  }

  #forget(period: BudgetPeriod) {
    for (const of of [...this.#seen.keys()]) {
      if ((of === "total") === (period === "total")) this.#seen.delete(of);
    }
  }

  /** Null where there is no budget in total, or where the use of side questions is unknown. */
  async #lookAtAll(): Promise<Look | null> {
    const { key, decided } = this.#session;
    if (decided.chosen.budgetMicro === null) return null;
    const beside = await this.#world.meter.usedBeside(key);
    if (!beside.ok) return null;
    const session = this.#session.decided;
    const { budgetMicro } = session.chosen;
    const { chargedMicro } = usedInAll(usedByTurns(session), beside.value);
    return { of: "total", chargedMicro, budgetMicro };
  }

  /** Null where there is no monthly budget, or where the ledger cannot be read. */
  async #lookAtMonth(): Promise<Look | null> {
    const { key, decided } = this.#session;
    if ((decided.chosen.monthBudgetMicro ?? null) === null) return null;
    const used = await this.#world.meter.usedThisMonth(key);
    if (!used.ok) return null;
    const { month, sessionMicro: chargedMicro } = used.value;
    const budgetMicro = this.#session.decided.chosen.monthBudgetMicro ?? null;
    return { of: month, chargedMicro, budgetMicro };
  }

  #tell(warning: CreditWarning | null) {
    if (warning !== null) this.#announce(warning);
  }
}

/** What a log is told of a warning, and the figures that it must not have beside that. */
export function announcementOf(
  warning: CreditWarning,
): Pick<Command<"announce">, "announcement" | "figures"> {
  const { usedMicro, budgetMicro, ...named } = warning;
  const data = warning.scope === "session" ? warning : named;
  const figures = { usedMicro, budgetMicro };
  return { announcement: { type: "credits_warning", data }, figures };
}

/** What was charged of the session's budget in total, or of the one of a month. */
interface Look {
  readonly of: "total" | Month;
  readonly chargedMicro: number;
  readonly budgetMicro: number | null;
}

function limitOf(of: Look["of"]): BudgetLimit {
  return of === "total" ? { scope: "session" } : { scope: "session", month: of };
}

/** The limit that a budget sets; one of a user says whose it is. */
type BudgetLimit = Omit<CreditLimit, "scope"> & {
  readonly scope: CreditWarning["scope"];
  readonly userId?: UserId;
};

/** How much of a budget may be used before people are warned. */
const WARNING_PERCENT = 80n;

/** If these charges have just passed the line at which a budget is nearly used up. */
function warningOf(
  limit: BudgetLimit,
  budgetMicro: number | null,
  beforeMicro: number,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null || beforeMicro >= lineOf(budgetMicro)) return null;
  return standingWarningOf(limit, budgetMicro, usedMicro);
}

/** If a budget is nearly used up as it stands; where nothing is used, there is nothing to say. */
function standingWarningOf(
  limit: BudgetLimit,
  budgetMicro: number | null,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null || usedMicro === 0 || usedMicro < lineOf(budgetMicro)) return null;
  const { scope, userId, ...ofMonth } = limit;
  const whose = { ...limitDetails({ scope, ...ofMonth }), scope, ...(userId && { userId }) };
  return { ...whose, usedMicro, budgetMicro };
}

function lineOf(budgetMicro: number): number {
  return Number((BigInt(budgetMicro) * WARNING_PERCENT + 99n) / 100n);
}

/** What the tenant and one user have been charged: in all, and in one month. */
export interface ChargedSoFar {
  readonly tenantMicro: number;
  readonly userMicro: number;
  /** Null where that is not held in memory. */
  readonly tenantMonthMicro: number | null;
  readonly userMonthMicro: number | null;
}

/** As the sums are, for the user and the month of an entry of the journal. */
export function chargedSoFar(
  { account, chargedByUser, months }: Sums,
  { userId, atMs }: StatementLine,
): ChargedSoFar {
  const month = months.of(monthOf(atMs));
  return {
    tenantMicro: account.chargedMicro,
    userMicro: (userId && chargedByUser.get(userId)) || 0,
    tenantMonthMicro: month?.chargedMicro ?? null,
    userMonthMicro: (userId && month?.byUser.of(userId)) ?? null,
  };
}

/** Budgets of a tenant and its users that came near since the start, until a session says so. */
export class TenantWarnings {
  readonly #bySession = new Map<SessionId, CreditWarning[]>();

  /**
   * A budget comes near once: with the charge that takes it over the line. A charge whose entry is
   * of another month than this one has nothing to do with the budget of this month.
   */
  watch(
    { kind, sessionId, userId, atMs }: StatementLine,
    allowance: Allowance,
    thisMonth: Month,
    before: ChargedSoFar,
    after: ChargedSoFar,
  ) {
    if (kind !== "charge" || sessionId === null) return;
    const limitOf = (budgets: Allowance["userMicro"]) => (userId && budgets.get(userId)) ?? null;
    const user = { scope: "user", ...(userId !== null && { userId }) } as const;
    const ofUser = limitOf(allowance.userMicro);
    const told = [
      warningOf({ scope: "tenant" }, allowance.tenantMicro, before.tenantMicro, after.tenantMicro),
      warningOf(user, ofUser, before.userMicro, after.userMicro),
    ];
    const month = monthOf(atMs);
    const { tenantMonthMicro: tenantBefore, userMonthMicro: userBefore } = before;
    const { tenantMonthMicro: tenantAfter, userMonthMicro: userAfter } = after;
    if (month === thisMonth && tenantBefore !== null && tenantAfter !== null) {
      const limit = { scope: "tenant", month } as const;
      told.push(warningOf(limit, allowance.tenantMonthMicro, tenantBefore, tenantAfter));
    }
    if (month === thisMonth && userBefore !== null && userAfter !== null) {
      const budgetMicro = limitOf(allowance.userMonthMicro);
      told.push(warningOf({ ...user, month }, budgetMicro, userBefore, userAfter));
    }
    const warnings = told.filter((warning) => warning !== null);
    if (warnings.length === 0) return;
    this.#bySession.set(sessionId, [...(this.#bySession.get(sessionId) ?? []), ...warnings]);
  }

  take(sessionId: SessionId): readonly CreditWarning[] {
    const warnings = this.#bySession.get(sessionId) ?? [];
    this.#bySession.delete(sessionId);
    return warnings;
  }
}

import type { TenantId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Account, availableMicro } from "../../core/ledger.ts";
import { MICRO_CREDITS_MAX } from "../../core/limits.ts";
import { monthName, renewalOf } from "../../core/month.ts";
import { addCounts, isCount } from "../../core/price.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { ChangeAct } from "../audit/audited.ts";
import { changeEntry, type Steward } from "../audit/entries.ts";
import { type Allowance, type BudgetScope, withBudget } from "./allowance.ts";
import { plainLine, readGrantId } from "./entry.ts";
import type { LedgerOptions, Ledgers } from "./ledgers.ts";
import type { Balance, BudgetUse, CreditOffice, Grant, MonthTotal, OwnUse } from "./meter.ts";
import type { MonthUse } from "./month-sums.ts";
import { openOfUser, usedByUser } from "./sums.ts";
import type { TenantLedger } from "./tenant-ledger.ts";
import { type StatementQuery, statementPage, type UsageQuery, usageReport } from "./usage.ts";

/** Shows and changes what tenants and their users may spend, over the ledgers of a store. */
export class LedgerOffice implements CreditOffice {
  readonly #options: LedgerOptions;
  readonly #ledgers: Ledgers;

  constructor(options: LedgerOptions, ledgers: Ledgers) {
    this.#options = options;
    this.#ledgers = ledgers;
  }

  balance(tenantId: TenantId): Promise<Result<Balance>> {
    const ledger = this.#ledgers.of(tenantId);
    return ledger.inTurn(async (allowance) => {
      const budgets = await budgetsOf(ledger, allowance);
      if (!budgets.ok) return budgets;
      const month = await ledger.monthUse(NO_SHARE);
      if (!month.ok) return month;
      const { account } = ledger.sums;
      const { limit } = allowance;
      return ok({
        limit,
        availableMicro: limit === "unlimited" ? null : availableMicro(account),
        grantedMicro: account.grantedMicro,
        chargedMicro: account.chargedMicro,
        openMicro: account.openMicro,
        openTurns: account.openByTurn.size,
        month: totalOf(month.value, month.value.chargedMicro),
        budgets: budgets.value,
      });
    });
  }

  ownUse(tenantId: TenantId, userId: UserId | null): Promise<Result<OwnUse>> {
    const ledger = this.#ledgers.of(tenantId);
    return ledger.inTurn(async (allowance) => {
      const counted = userId === null ? ok(undefined) : await ledger.count(userId);
      if (!counted.ok) return counted;
      const month = await ledger.monthUse({ userId, sessionId: null });
      if (!month.ok) return month;
      const { sums } = ledger;
      const { account, chargedByUser } = sums;
      const isUser = userId !== null;
      const budgets = isUser
        ? userBudgets(ledger, allowance, userId, month.value)
        : tenantBudgets(ledger, allowance, month.value);
      const left = budgets.map(({ leftMicro }) => leftMicro);
      const inMonth = isUser ? month.value.userMicro : month.value.chargedMicro;
      const chargedMicro = isUser ? (chargedByUser.get(userId) ?? 0) : account.chargedMicro;
      return ok({
        user: userId,
        month: totalOf(month.value, inMonth),
        total: { chargedMicro },
        openMicro: isUser ? openOfUser(sums, userId) : account.openMicro,
        budgets,
        leftMicro: left.length === 0 ? null : Math.min(...left),
      });
    });
  }

  async grant(tenantId: TenantId, grant: Grant): Promise<Result<Balance>> {
    const { id, amountMicro, by } = grant;
    const note = grant.note === "" ? null : grant.note;
    const turnId = readGrantId(id);
    if (!turnId.ok) return turnId;
    if (!isCount(amountMicro) || amountMicro === 0) {
      return fail("invalid_amount", { limit: MICRO_CREDITS_MAX });
    }
    const entry = { kind: "grant", turnId: turnId.value, n: 0, amountMicro } as const;
    const details = { id, amountMicro, ...(note !== null && { note }) };
    const audit = this.#audited("credits_granted", by, details, `credits grant ${id}`);
    const line = { ...plainLine(entry, userOf(by)), note };
    const granted = await this.#ledgers.of(tenantId).grant(line, audit);
    return granted.ok ? this.balance(tenantId) : granted;
  }

  async revoke(
    tenantId: TenantId,
    revocation: Omit<Grant, "amountMicro">,
  ): Promise<Result<Balance>> {
    const { id, by } = revocation;
    const note = revocation.note === "" ? null : revocation.note;
    const turnId = readGrantId(id);
    if (!turnId.ok) return turnId;
    const entry = { kind: "revoke", turnId: turnId.value, n: 0, amountMicro: 0 } as const;
    const auditOf = (amountMicro: number) => {
      const details = { id, amountMicro, ...(note !== null && { note }) };
      return this.#audited("credits_grant_revoked", by, details, `credits grant revoked ${id}`);
    };
    const line = { ...plainLine(entry, userOf(by)), note };
    const revoked = await this.#ledgers.of(tenantId).revoke(line, auditOf);
    return revoked.ok ? this.balance(tenantId) : revoked;
  }

  async setLimit(
    tenantId: TenantId,
    limit: Account["limit"],
    by: Steward,
  ): Promise<Result<Balance>> {
    const audit = this.#audited("credits_limit_set", by, { limit });
    const change = (allowance: Allowance) => ok({ ...allowance, limit });
    const set = await this.#ledgers.of(tenantId).change(change, audit);
    return set.ok ? this.balance(tenantId) : set;
  }

  async setBudget(
    tenantId: TenantId,
    scope: BudgetScope,
    budgetMicro: number | null,
    by: Steward,
  ): Promise<Result<Balance>> {
    const audit = this.#audited("credits_budget_set", by, { ...scope, budgetMicro });
    const change = (allowance: Allowance) => withBudget(allowance, scope, budgetMicro);
    const set = await this.#ledgers.of(tenantId).change(change, audit);
    return set.ok ? this.balance(tenantId) : set;
  }

  statement(tenantId: TenantId, wish: StatementQuery) {
    return statementPage(this.#options.store, tenantId, wish);
  }

  usage(tenantId: TenantId, wish: UsageQuery) {
    return usageReport(this.#options.store, tenantId, wish);
  }

  #audited(act: ChangeAct, by: Steward, details: JsonObject, key?: string): JournalEntry {
    const atMs = this.#options.nowMs();
    return changeEntry({ act, by, details, atMs, ...(key !== undefined && { key }) });
  }
}

const NO_SHARE = { userId: null, sessionId: null };

function userOf(by: Steward): UserId | null {
  return by.kind === "client" ? by.userId : null;
}

function totalOf({ month }: MonthUse, chargedMicro: number): MonthTotal {
  return { name: monthName(month), chargedMicro, renewsAt: renewalOf(month) };
}

/** All budgets of a tenant and its users, each with what was used of it. */
async function budgetsOf(
  ledger: TenantLedger,
  allowance: Allowance,
): Promise<Result<readonly BudgetUse[]>> {
  const whole = await ledger.monthUse(NO_SHARE);
  if (!whole.ok) return whole;
  const budgets = [...tenantBudgets(ledger, allowance, whole.value)];
  const users = new Set([...allowance.userMicro.keys(), ...allowance.userMonthMicro.keys()]);
  for (const userId of users) {
    const month = await ledger.monthUse({ userId, sessionId: null });
    if (!month.ok) return month;
    budgets.push(...userBudgets(ledger, allowance, userId, month.value));
  }
  return ok(budgets);
}

function tenantBudgets(
  { sums }: TenantLedger,
  { tenantMicro, tenantMonthMicro }: Allowance,
  use: MonthUse,
): readonly BudgetUse[] {
  const { chargedMicro, openMicro } = sums.account;
  return [
    ...budgetUse("tenant", tenantMicro, addCounts(chargedMicro, openMicro)),
    ...budgetUse("tenant", tenantMonthMicro, addCounts(use.chargedMicro, openMicro), use),
  ];
}

function userBudgets(
  { sums }: TenantLedger,
  { userMicro, userMonthMicro }: Allowance,
  userId: UserId,
  use: MonthUse,
): readonly BudgetUse[] {
  const scope = `user:${userId}`;
  const inMonth = addCounts(use.userMicro, openOfUser(sums, userId));
  return [
    ...budgetUse(scope, userMicro.get(userId) ?? null, usedByUser(sums, userId)),
    ...budgetUse(scope, userMonthMicro.get(userId) ?? null, inMonth, use),
  ];
}

function budgetUse(
  scope: string,
  budgetMicro: number | null,
  usedMicro: number,
  use?: MonthUse,
): readonly BudgetUse[] {
  if (budgetMicro === null) return [];
  const leftMicro = Math.max(0, budgetMicro - usedMicro);
  const figures = { budgetMicro, usedMicro, leftMicro };
  if (use === undefined) return [{ scope, period: "total", ...figures }];
  return [{ scope, period: "month", ...figures, renewsAt: renewalOf(use.month) }];
}

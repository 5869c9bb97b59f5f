import type { TenantId, TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Account, availableMicro } from "../../core/ledger.ts";
import {
  CREDIT_SWEEP_SESSIONS_MAX,
  LEDGER_SETTLED_UNREAD_MAX,
  LEDGERS_HELD_MAX,
  MICRO_CREDITS_MAX,
} from "../../core/limits.ts";
import type { Log, LogMessage } from "../../core/log.ts";
import { addCounts, costMicro, isCount } from "../../core/price.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { JournalEntry, SessionKey, SessionStore } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import type { ChangeAct } from "../audit/audited.ts";
import { changeEntry, type Steward } from "../audit/entries.ts";
import {
  type Allowance,
  type BudgetScope,
  isUnlimited,
  type Use,
  usedBeside,
  type Weighing,
  withBudget,
} from "./allowance.ts";
import { asideLines, creditOf, keyOf, plainLine, readGrantId, settlementEntries } from "./entry.ts";
import type {
  AsideUse,
  Balance,
  CreditWarning,
  Grant,
  Meter,
  ReservationRequest,
  Slice,
  TurnCredit,
} from "./meter.ts";
import { estimateOf, type PriceTable, type Quote } from "./price-table.ts";
import { usedByUser } from "./sums.ts";
import { TenantLedger } from "./tenant-ledger.ts";
import { type StatementQuery, statementPage, type UsageQuery, usageReport } from "./usage.ts";

export interface MeterOptions {
  readonly store: SessionStore;
  readonly prices: PriceTable;
  /** The limit of a tenant that has set none; null if that is not known here. */
  usualLimit(tenantId: TenantId): Account["limit"] | null;
  nowMs(): number;
  readonly log: Log;
}

/** The credits of all tenants, over the journals of a store. */
export class LedgerMeter implements Meter {
  readonly #parts: MeterOptions;
  /** The one that was used last is at the end. */
  readonly #ledgers = new Map<TenantId, TenantLedger>();
  /** Reserved here for turns of which it is not known yet whether they begin. */
  readonly #pending = new Set<TurnId>();
  /** Turns that a log has open although the ledger has their charge: the log was cut. */
  readonly #charged = new Set<TurnId>();
  /** Settlements since the sums were last brought up to date. */
  readonly #unread = new Map<TenantId, number>();
  #hasSwept = false;

  constructor(parts: MeterOptions) {
    this.#parts = parts;
  }

  reserve(order: ReservationRequest): Result<TurnCredit> | Promise<Result<TurnCredit>> {
    const quote = this.#quote(order);
    if (this.isFree(order)) return ok(creditOf(order, quote, 0));
    return this.#reserve(order, quote);
  }

  async #reserve(order: ReservationRequest, quote: Quote | null): Promise<Result<TurnCredit>> {
    // The same one all through: of a tenant that is deleted meanwhile, it takes nothing any more.
    const ledger = this.#ledger(order.key.tenantId);
    const needed = await this.#needed(order, quote);
    if (!needed.ok) return needed;
    const credit = creditOf(order, quote, needed.value);
    if (needed.value === 0) return ok(credit);
    this.#pending.add(order.turnId);
    const reserved = await ledger.reserve(order, needed.value);
    if (reserved.ok) return ok(credit);
    this.#pending.delete(order.turnId);
    return reserved;
  }

  async afford(order: ReservationRequest, when: Weighing = "now"): Promise<Result<void>> {
    if (this.isFree(order)) return DONE;
    const needed = await this.#needed(order, this.#quote(order));
    if (!needed.ok) return needed;
    // What costs nothing can always be paid, however far the balance is overdrawn.
    if (needed.value === 0) return DONE;
    return this.#ledger(order.key.tenantId).afford(order, needed.value, when);
  }

  /** Nothing for those without any limit or budget; an unknown price is only for them. */
  async #needed(order: ReservationRequest, quote: Quote | null): Promise<Result<number>> {
    const ledger = this.#ledger(order.key.tenantId);
    const known = ledger.allowance;
    // An unknown price is refused by what is allowed now, not as it was last read.
    const isTold = known !== null && (quote !== null || isUnlimited(known, order));
    const loaded = isTold ? ok(known) : await ledger.inTurn(async (read) => ok(read));
    if (!loaded.ok) return loaded;
    const { agent, model } = order;
    if (quote !== null) return ok(this.isFree(order) ? 0 : quote.estimateMicro);
    if (isUnlimited(loaded.value, order)) return ok(0);
    return fail("price_unknown", { agent, model: model ?? "unknown" });
  }

  isFree(order: ReservationRequest): boolean {
    const allowance = this.#ledgers.get(order.key.tenantId)?.allowance ?? null;
    return allowance !== null && isUnlimited(allowance, order);
  }

  async slice(
    order: ReservationRequest,
    { n, price, missingMicro }: Slice,
  ): Promise<Result<number>> {
    const usual = this.#quote(order)?.estimateMicro ?? (price === null ? 0 : estimateOf(price));
    const ledger = this.#ledger(order.key.tenantId);
    return ledger.slice(order, n, Math.max(usual, missingMicro), missingMicro);
  }

  async giveBack({ tenantId }: SessionKey, turnId: TurnId): Promise<void> {
    const released = await this.#ledger(tenantId).release(turnId);
    this.#pending.delete(turnId);
    if (!released.ok) this.#tell("credits not released", tenantId, released.refusal.code);
  }

  async giveBackUnbegun(key: SessionKey, turnId: TurnId): Promise<void> {
    if (this.#pending.has(turnId)) await this.giveBack(key, turnId);
  }

  leave(turnId: TurnId) {
    this.#pending.delete(turnId);
  }

  begun(turnId: TurnId) {
    this.#pending.delete(turnId);
  }

  entries(
    key: SessionKey,
    before: Session | null,
    written: readonly Written[],
  ): readonly JournalEntry[] {
    if (before === null) return [];
    const entries = settlementEntries(key, before, written);
    const turnId = before.running?.turnId;
    if (entries.length === 0 || turnId === undefined) return entries;
    return this.#charged.delete(turnId) ? [] : entries;
  }

  settled({ tenantId, sessionId }: SessionKey): Promise<readonly CreditWarning[]> | null {
    const ledger = this.#ledger(tenantId);
    const { allowance } = ledger;
    const isWatched = allowance?.tenantMicro !== null || allowance.userMicro.size > 0;
    const unread = (this.#unread.get(tenantId) ?? 0) + 1;
    this.#unread.set(tenantId, unread);
    const isLimited = allowance?.limit !== "unlimited";
    if (!isWatched && !isLimited && unread < LEDGER_SETTLED_UNREAD_MAX) return null;
    this.#unread.delete(tenantId);
    return this.#warnings(ledger, sessionId);
  }

  async #warnings(
    ledger: TenantLedger,
    sessionId: SessionKey["sessionId"],
  ): Promise<readonly CreditWarning[]> {
    const followed = await ledger.inTurn(async () => DONE);
    if (!followed.ok) return [];
    ledger.raised();
    return ledger.takeWarnings(sessionId);
  }

  async settleAside(order: ReservationRequest, credit: TurnCredit, use: AsideUse): Promise<number> {
    const { tenantId, sessionId } = order.key;
    const lines = asideLines(order, credit, use);
    const settled = await this.#ledger(tenantId).record(lines, sessionId);
    // What is still held for it is an orphan from now on, which the sweep finds.
    this.#pending.delete(order.turnId);
    if (!settled.ok) this.#tell("credits not settled", tenantId, settled.refusal.code);
    return settled.ok ? costMicro(credit.price, use.tokens) : 0;
  }

  usedBeside({ tenantId, sessionId }: SessionKey): Promise<Result<Use>> {
    const ledger = this.#ledger(tenantId);
    return ledger.inTurn(async () => ok(usedBeside(ledger.sums, sessionId)));
  }

  whenRaised(tenantId: TenantId, act: () => void): CallOff {
    return this.#ledger(tenantId).whenRaised(act);
  }

  async opened(key: SessionKey, session: Session): Promise<void> {
    const reconciled = await this.#reconcile(key, this.#candidates(key), session);
    if (reconciled.ok) return;
    this.#tell("credits not reconciled", key.tenantId, reconciled.refusal.code);
  }

  /** The first time through all tenants; then through those that are in use here. */
  async sweep(look: (key: SessionKey) => Promise<Result<Session>>): Promise<void> {
    const held = ok([...this.#ledgers.keys()]);
    const tenants = this.#hasSwept ? held : await this.#parts.store.tenants();
    if (!tenants.ok) return this.#tell("credits not swept", null, tenants.refusal.code);
    this.#hasSwept = true;
    for (const tenantId of tenants.value) {
      const swept = await this.#sweepTenant(tenantId, look);
      if (!swept.ok) this.#tell("credits not swept", tenantId, swept.refusal.code);
    }
  }

  async without<Value>(tenantId: TenantId, act: () => Promise<Value>): Promise<Value> {
    const ledger = this.#ledger(tenantId);
    await ledger.close();
    try {
      return await act();
    } finally {
      for (const turnId of ledger.sums.open.keys()) this.#pending.delete(turnId);
      this.#ledgers.delete(tenantId);
      this.#unread.delete(tenantId);
    }
  }

  async #sweepTenant(
    tenantId: TenantId,
    look: (key: SessionKey) => Promise<Result<Session>>,
  ): Promise<Result<void>> {
    const ledger = this.#ledger(tenantId);
    const fresh = await ledger.refresh();
    if (!fresh.ok) return fresh;
    const named = [...ledger.sums.open.values()].flatMap(({ sessionId }) => sessionId ?? []);
    for (const sessionId of [...new Set(named)].slice(0, CREDIT_SWEEP_SESSIONS_MAX)) {
      const key = { tenantId, sessionId };
      // Pending ones are not; all others that are open have begun, or never will.
      const candidates = this.#candidates(key);
      if (candidates.length === 0) continue;
      const session = await look(key);
      const isGone = !session.ok && session.refusal.code === "session_not_found";
      if (!session.ok && !isGone) continue;
      const done = await this.#reconcile(key, candidates, session.ok ? session.value : null);
      if (!done.ok) return done;
    }
    return DONE;
  }

  #candidates({ tenantId, sessionId }: SessionKey): readonly TurnId[] {
    const { open } = this.#ledger(tenantId).sums;
    const mine = [...open].filter(([, turn]) => turn.sessionId === sessionId);
    return mine.map(([turnId]) => turnId).filter((turnId) => !this.#pending.has(turnId));
  }

  /** Releases what is held for turns that the session does not have. */
  async #reconcile(
    key: SessionKey,
    candidates: readonly TurnId[],
    session: Session | null,
  ): Promise<Result<void>> {
    const ledger = this.#ledger(key.tenantId);
    const isLoaded = ledger.allowance !== null;
    const loaded = isLoaded ? DONE : await ledger.inTurn(async () => DONE);
    if (!loaded.ok) return loaded;
    const current = session?.connection.turn.currentReservation?.turnId ?? null;
    if (current !== null) {
      const charged = await ledger.has(keyOf({ kind: "charge", turnId: current, ...FIRST }));
      if (!charged.ok) return charged;
      if (charged.value) this.#charged.add(current);
    }
    for (const turnId of isLoaded ? candidates : this.#candidates(key)) {
      if (turnId === current) continue;
      const released = await ledger.release(turnId);
      if (!released.ok) return released;
      const { tenantId, sessionId } = key;
      this.#parts.log("reservation without a turn released", { tenantId, sessionId, turnId });
    }
    return DONE;
  }

  balance(tenantId: TenantId): Promise<Result<Balance>> {
    const ledger = this.#ledger(tenantId);
    return ledger.inTurn(async ({ limit, tenantMicro, userMicro }) => {
      const { sums } = ledger;
      const { grantedMicro, chargedMicro, openMicro, openByTurn } = sums.account;
      const users = [...userMicro].map(([userId, budgetMicro]) => {
        return { scope: `user:${userId}`, budgetMicro, usedMicro: usedByUser(sums, userId) };
      });
      const usedMicro = addCounts(chargedMicro, openMicro);
      const whole = { scope: "tenant", budgetMicro: tenantMicro ?? 0, usedMicro };
      return ok({
        limit,
        availableMicro: limit === "unlimited" ? null : availableMicro(sums.account),
        grantedMicro,
        chargedMicro,
        openMicro,
        openTurns: openByTurn.size,
        budgets: [...(tenantMicro === null ? [] : [whole]), ...users],
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
    const userId = by.kind === "client" ? by.userId : null;
    const atMs = this.#parts.nowMs();
    const details = { id, amountMicro, ...(note !== null && { note }) };
    const key = `credits grant ${id}`;
    const audit = changeEntry({ act: "credits_granted", by, details, atMs, key });
    const granted = await this.#ledger(tenantId).grant(
      { ...plainLine(entry, userId), note },
      audit,
    );
    return granted.ok ? this.balance(tenantId) : granted;
  }

  async setLimit(
    tenantId: TenantId,
    limit: Account["limit"],
    by: Steward,
  ): Promise<Result<Balance>> {
    const audit = this.#audited("credits_limit_set", by, { limit });
    const change = (allowance: Allowance) => ok({ ...allowance, limit });
    const set = await this.#ledger(tenantId).change(change, audit);
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
    const set = await this.#ledger(tenantId).change(change, audit);
    return set.ok ? this.balance(tenantId) : set;
  }

  statement(tenantId: TenantId, wish: StatementQuery) {
    return statementPage(this.#parts.store, tenantId, wish);
  }

  usage(tenantId: TenantId, wish: UsageQuery) {
    return usageReport(this.#parts.store, tenantId, wish);
  }

  #audited(act: ChangeAct, by: Steward, details: JsonObject): JournalEntry {
    return changeEntry({ act, by, details, atMs: this.#parts.nowMs() });
  }

  #quote({ agent, model }: ReservationRequest): Quote | null {
    return this.#parts.prices.quote(agent, model);
  }

  #ledger(tenantId: TenantId): TenantLedger {
    const known = this.#ledgers.get(tenantId);
    const { store, nowMs } = this.#parts;
    const limit = this.#parts.usualLimit(tenantId);
    const ledger = known ?? new TenantLedger(store, tenantId, limit, nowMs);
    this.#ledgers.delete(tenantId);
    this.#ledgers.set(tenantId, ledger);
    if (known === undefined) this.#makeRoom();
    return ledger;
  }

  /** One that is in use stays; all that another held can be read again. */
  #makeRoom() {
    for (const [tenantId, ledger] of this.#ledgers) {
      if (this.#ledgers.size <= LEDGERS_HELD_MAX) return;
      if (ledger.isIdle && ledger.allowance !== null) this.#ledgers.delete(tenantId);
    }
  }

  #tell(what: LogMessage, tenantId: TenantId | null, because: string) {
    this.#parts.log(what, { ...(tenantId !== null && { tenantId }), because });
  }
}

const FIRST = { n: 0, amountMicro: 0 } as const;

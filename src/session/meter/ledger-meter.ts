import type { TenantId, TurnId } from "../../core/id.ts";
import { CREDIT_SWEEP_SESSIONS_MAX, LEDGER_SETTLED_UNREAD_MAX } from "../../core/limits.ts";
import type { Log, LogMessage } from "../../core/log.ts";
import type { Price } from "../../core/price.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { Session } from "../../core/session/state.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { JournalEntry, SessionKey } from "../../store/store.ts";
import type { Written } from "../actor/written.ts";
import { hasBudgets, isUnlimited, type Use, usedBeside, type Weighing } from "./allowance.ts";
import { LedgerOffice } from "./credit-office.ts";
import { asideLines, creditOf, keyOf, settlementEntries } from "./entry.ts";
import { type LedgerOptions, Ledgers } from "./ledgers.ts";
import type {
  AsideUse,
  CreditWarning,
  Meter,
  ReservationRequest,
  Slice,
  TurnCredit,
} from "./meter.ts";
import type { MonthUse } from "./month-sums.ts";
import { estimateOf, type PriceTable, type Quote } from "./price-table.ts";
import type { TenantLedger } from "./tenant-ledger.ts";

export interface MeterOptions extends LedgerOptions {
  readonly prices: PriceTable;
  readonly log: Log;
}

/** The credits of all tenants, over the journals of a store. */
export class LedgerMeter extends LedgerOffice implements Meter {
  readonly #parts: MeterOptions;
  readonly #ledgers: Ledgers;
  /** Reserved here for turns of which it is not known yet whether they begin. */
  readonly #pending = new Set<TurnId>();
  /** Turns that a log has open although the ledger has their charge: the log was cut. */
  readonly #charged = new Set<TurnId>();
  /** Settlements since the sums were last brought up to date. */
  readonly #unread = new Map<TenantId, number>();
  #hasSwept = false;

  constructor(parts: MeterOptions) {
    const ledgers = new Ledgers(parts);
    super(parts, ledgers);
    this.#ledgers = ledgers;
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
    const allowance = this.#ledgers.held(order.key.tenantId)?.allowance ?? null;
    return allowance !== null && isUnlimited(allowance, order);
  }

  priceOf(agent: string, model: string | null): Price | null {
    return this.#parts.prices.quote(agent, model)?.price ?? null;
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
    const isWatched = allowance === null || hasBudgets(allowance);
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
    const charged = lines.filter(({ kind }) => kind === "charge");
    return settled.ok ? charged.reduce((sum, { amountMicro }) => sum + amountMicro, 0) : 0;
  }

  usedBeside({ tenantId, sessionId }: SessionKey): Promise<Result<Use>> {
    const ledger = this.#ledger(tenantId);
    return ledger.inTurn(async () => ok(usedBeside(ledger.sums, sessionId)));
  }

  usedThisMonth({ tenantId, sessionId }: SessionKey): Promise<Result<MonthUse>> {
    const ledger = this.#ledger(tenantId);
    return ledger.inTurn(() => ledger.monthUse({ userId: null, sessionId }));
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
    const held = ok(this.#ledgers.tenants());
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

  #quote({ agent, model }: ReservationRequest): Quote | null {
    return this.#parts.prices.quote(agent, model);
  }

  #ledger(tenantId: TenantId): TenantLedger {
    return this.#ledgers.of(tenantId);
  }

  #tell(what: LogMessage, tenantId: TenantId | null, because: string) {
    this.#parts.log(what, { ...(tenantId !== null && { tenantId }), because });
  }
}

const FIRST = { n: 0, amountMicro: 0 } as const;

import type { SessionId, TenantId, TurnId } from "../../core/id.ts";
import { type Account, availableMicro, postEntry } from "../../core/ledger.ts";
import {
  LEDGER_ENTRIES_UNSUMMED_MAX,
  MICRO_CREDITS_MAX,
  PAGE_ROWS_MAX,
  RELEASES_MAX,
} from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";
import type { CallOff } from "../world.ts";
import { type Allowance, changeAllowance, readAllowance } from "./allowance.ts";
import { journalEntry, type LedgerLine, plainLine, readLine, type StatementLine } from "./entry.ts";
import type { CreditWarning, TurnOrder } from "./meter.ts";
import { documentOf, NO_SUMS, readSums, type Sums, usedByUser, withLine } from "./sums.ts";

/** How much of a budget may be used before people are warned (design, section 9). */
const WARNING_PERCENT = 80n;

/** The kind and key of the document that has the sums. */
const SUMS = { kind: "credits", key: "sums" } as const;

/**
 * One tenant's ledger. The journal is the truth, whoever writes it; the sums in memory follow it,
 * and are brought up to date before anything is weighed. What weighs and what writes is done one
 * after the other, so that two reservations at once cannot spend the same credit.
 */
export class TenantLedger {
  readonly tenantId: TenantId;
  readonly #store: SessionStore;
  readonly #usual: Account["limit"];
  readonly #nowMs: () => number;
  #sums: Sums = NO_SUMS;
  #allowance: Allowance | null = null;
  #checkpointSeq = 0;
  #checkpointVersion = 0;
  #last: Promise<unknown> = Promise.resolve();
  #working = 0;
  #waiters = new Set<() => void>();
  /** Budgets that came near since the start, until their session has told of it. */
  readonly #warnings = new Map<SessionId, CreditWarning[]>();

  constructor(
    store: SessionStore,
    tenantId: TenantId,
    usual: Account["limit"],
    nowMs: () => number,
  ) {
    this.#store = store;
    this.tenantId = tenantId;
    this.#usual = usual;
    this.#nowMs = nowMs;
  }

  /** As far as they are known; up to date only inside of `inTurn`. */
  get sums(): Sums {
    return this.#sums;
  }

  /** Null until it was loaded. */
  get allowance(): Allowance | null {
    return this.#allowance;
  }

  get isIdle(): boolean {
    return this.#working === 0 && this.#waiters.size === 0;
  }

  /** Does something with sums that are up to date, when everything before it is done. */
  inTurn<Value>(act: (allowance: Allowance) => Promise<Result<Value>>): Promise<Result<Value>> {
    this.#working += 1;
    const done = this.#last.then(async () => {
      const loaded = await this.#load();
      if (!loaded.ok) return loaded;
      const followed = await this.#follow();
      return followed.ok ? act(loaded.value) : followed;
    });
    const over = () => {
      this.#working -= 1;
    };
    this.#last = done.then(over, over);
    return done;
  }

  /** Sets something aside, if there is as much left wherever there is a limit. */
  reserve(order: TurnOrder, n: number, amountMicro: number): Promise<Result<void>> {
    return this.inTurn(async (allowance) => {
      const room = roomOf(this.#sums, allowance, order);
      if (amountMicro > room) {
        return fail("insufficient_credits", { neededMicro: amountMicro, availableMicro: room });
      }
      const { turnId, userId, key } = order;
      const line = plainLine({ kind: "reserve", turnId, n, amountMicro }, userId);
      return this.#append(line, key.sessionId);
    });
  }

  afford(order: TurnOrder, amountMicro: number): Promise<Result<void>> {
    return this.inTurn(async (allowance) => {
      const availableMicro = roomOf(this.#sums, allowance, order);
      if (amountMicro <= availableMicro) return DONE;
      return fail("insufficient_credits", { neededMicro: amountMicro, availableMicro });
    });
  }

  /** Adds a grant; the very same one again changes nothing. */
  async grant(line: LedgerLine, audit: JournalEntry): Promise<Result<void>> {
    const { kind, turnId, n } = line;
    const granted = await this.inTurn(async () => {
      const posting = postEntry(this.#sums.account, line, null);
      if (posting.kind === "refused") return { ok: false, refusal: posting.refusal } as const;
      return this.#append(line, null, [audit]);
    });
    if (granted.ok) this.raised();
    if (granted.ok || granted.refusal.code !== "journal_conflict") return granted;
    return fail("ledger_conflict", { turnId, kind, n });
  }

  /**
   * Releases whatever this turn holds. A verdict's own release has the number 0, so these begin at
   * 1: they can never stand in the way of a verdict.
   */
  release(turnId: TurnId): Promise<Result<void>> {
    return this.inTurn(async () => {
      for (let n = 1; n <= RELEASES_MAX; n += 1) {
        const amountMicro = this.#sums.account.openByTurn.get(turnId) ?? 0;
        if (amountMicro === 0) return DONE;
        const turn = this.#sums.open.get(turnId);
        const line = plainLine({ kind: "release", turnId, n, amountMicro }, turn?.userId ?? null);
        const released = await this.#append(line, turn?.sessionId ?? null);
        if (released.ok) this.raised();
        if (released.ok || released.refusal.code !== "journal_conflict") return released;
      }
      return fail("reservation_not_open", { turnId });
    });
  }

  /** Changes what may be spent, and not without the audit's knowing. */
  change(
    change: (allowance: Allowance) => Result<Allowance>,
    audit: JournalEntry,
  ): Promise<Result<void>> {
    return this.inTurn(async (allowance) => {
      const allowed = change(allowance);
      if (!allowed.ok) return allowed;
      const audited = await this.#store.appendJournal(this.tenantId, [audit]);
      if (!audited.ok) return audited;
      const changed = await changeAllowance(this.#store, this.tenantId, this.#usual, change);
      if (!changed.ok) return changed;
      this.#allowance = changed.value;
      this.raised();
      return DONE;
    });
  }

  /** Reads again what others may have changed, and wakes those who wait if there is news. */
  refresh(): Promise<Result<void>> {
    const before = this.#sums.seq;
    return this.inTurn(async () => {
      const read = await readAllowance(this.#store, this.tenantId, this.#usual);
      if (!read.ok) return read;
      const { version: _, ...allowance } = read.value;
      this.#allowance = allowance;
      if (this.#sums.seq !== before) this.raised();
      return DONE;
    });
  }

  whenRaised(act: () => void): CallOff {
    // Each wait is one of its own, even if it would call the same.
    const waiter = () => act();
    this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  /** There may be more to spend now. */
  raised() {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }

  takeWarnings(sessionId: SessionId): readonly CreditWarning[] {
    const warnings = this.#warnings.get(sessionId) ?? [];
    this.#warnings.delete(sessionId);
    return warnings;
  }

  /** Whether the journal has this entry. */
  async has(key: string): Promise<Result<boolean>> {
    const query = { journal: "ledger", key, after: 0, limit: 1 } as const;
    const found = await this.#store.readJournal(this.tenantId, query);
    return found.ok ? ok(found.value.rows.length > 0) : found;
  }

  async #append(
    line: LedgerLine,
    sessionId: SessionId | null,
    audit: readonly JournalEntry[] = [],
  ): Promise<Result<void>> {
    const entry = journalEntry(line, sessionId, this.#nowMs());
    const appended = await this.#store.appendJournal(this.tenantId, [entry, ...audit]);
    return appended.ok ? this.#follow() : appended;
  }

  async #load(): Promise<Result<Allowance>> {
    if (this.#allowance !== null) return ok(this.#allowance);
    const read = await readAllowance(this.#store, this.tenantId, this.#usual);
    if (!read.ok) return read;
    const { version: _, ...allowance } = read.value;
    const found = await this.#store.readDocument(this.tenantId, SUMS.kind, SUMS.key);
    if (!found.ok) return found;
    this.#checkpointVersion = found.value?.version ?? 0;
    this.#sums = (found.value && readSums(found.value.value)) ?? NO_SUMS;
    this.#checkpointSeq = this.#sums.seq;
    const followed = await this.#follow("silently");
    if (!followed.ok) return followed;
    this.#allowance = allowance;
    return ok(allowance);
  }

  /** Reads on to the journal's end. */
  async #follow(how: "watching" | "silently" = "watching"): Promise<Result<void>> {
    for (let more = true; more; ) {
      const query = { journal: "ledger", after: this.#sums.seq, limit: PAGE_ROWS_MAX } as const;
      const page = await this.#store.readJournal(this.tenantId, query);
      if (!page.ok) return page;
      for (const row of page.value.rows) {
        const line = readLine(row);
        const next = line && withLine(this.#sums, line);
        if (line === null || next === null) {
          const reason = `entry ${row.seq} of the ledger cannot be read`;
          return fail("store_unavailable", { reason });
        }
        if (how === "watching") this.#watch(line, this.#sums, next);
        this.#sums = next;
      }
      more = page.value.more;
    }
    await this.#checkpoint();
    return DONE;
  }

  /** A budget comes near once: with the charge that takes it over the line. */
  #watch({ kind, sessionId, userId }: StatementLine, before: Sums, after: Sums) {
    if (kind !== "charge" || sessionId === null || this.#allowance === null) return;
    const { tenantMicro, userMicro } = this.#allowance;
    const ofUser = userId === null ? null : (userMicro.get(userId) ?? null);
    const charged = ({ chargedByUser }: Sums) => (userId && chargedByUser.get(userId)) || 0;
    const told = [
      warningOf("tenant", tenantMicro, before.account.chargedMicro, after.account.chargedMicro),
      warningOf("user", ofUser, charged(before), charged(after)),
    ].filter((warning) => warning !== null);
    if (told.length === 0) return;
    this.#warnings.set(sessionId, [...(this.#warnings.get(sessionId) ?? []), ...told]);
  }

  /** That it fails is no harm: the journal has it all, and is read from further back. */
  async #checkpoint(): Promise<void> {
    if (this.#sums.seq - this.#checkpointSeq < LEDGER_ENTRIES_UNSUMMED_MAX) return;
    this.#checkpointSeq = this.#sums.seq;
    const value = documentOf(this.#sums);
    if (value === null) return;
    const expectedVersion = this.#checkpointVersion;
    const written = await this.#store.writeDocument(this.tenantId, {
      ...SUMS,
      expectedVersion,
      value,
    });
    if (written.ok) this.#checkpointVersion = written.value.version;
    else if (written.refusal.code === "document_conflict") await this.#rereadVersion();
  }

  /** Another server has written its sums; the next ones of ours go over them. */
  async #rereadVersion(): Promise<void> {
    const found = await this.#store.readDocument(this.tenantId, SUMS.kind, SUMS.key);
    if (found.ok) this.#checkpointVersion = found.value?.version ?? 0;
  }
}

/** What this turn could still set aside: the least that any limit leaves. */
function roomOf(sums: Sums, allowance: Allowance, order: TurnOrder): number {
  const { account } = sums;
  const { userId, budgetMicro, usedMicro } = order;
  const rooms = [availableMicro({ ...account, limit: allowance.limit })];
  if (budgetMicro !== null) rooms.push(budgetMicro - usedMicro);
  const { tenantMicro } = allowance;
  if (tenantMicro !== null) rooms.push(tenantMicro - account.chargedMicro - account.openMicro);
  const ofUser = userId === null ? undefined : allowance.userMicro.get(userId);
  if (userId !== null && ofUser !== undefined) rooms.push(ofUser - usedByUser(sums, userId));
  return Math.min(MICRO_CREDITS_MAX, ...rooms);
}

/** If these charges have just passed the line at which a budget is nearly used up. */
export function warningOf(
  scope: CreditWarning["scope"],
  budgetMicro: number | null,
  beforeMicro: number,
  usedMicro: number,
): CreditWarning | null {
  if (budgetMicro === null) return null;
  const line = Number((BigInt(budgetMicro) * WARNING_PERCENT + 99n) / 100n);
  return beforeMicro < line && line <= usedMicro ? { scope, usedMicro, budgetMicro } : null;
}

import type { SessionId, TenantId, TurnId, UserId } from "../../core/id.ts";
import { type Account, postEntry } from "../../core/ledger.ts";
import { PAGE_ROWS_MAX, RELEASES_MAX } from "../../core/limits.ts";
import { monthOf } from "../../core/month.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { CallOff } from "../../platform/clock.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";
import {
  type Allowance,
  changeAllowance,
  isMonthly,
  readAllowance,
  refusalOf,
  type Scales,
  type Weighing,
} from "./allowance.ts";
import { chargedSoFar, TenantWarnings } from "./budget-watch.ts";
import {
  journalEntry,
  keyOf,
  type LedgerLine,
  plainLine,
  readLine,
  type StatementLine,
} from "./entry.ts";
import type { CreditWarning, ReservationRequest } from "./meter.ts";
import { type MonthShare, type MonthUse, monthUse } from "./month-sums.ts";
import { noSums, type Sums, SumsCheckpoint, withCounted, withLine } from "./sums.ts";

/**
 * One tenant's ledger. The journal is the truth, also if another server writes it; the sums in
 * memory follow it, and are brought up to date before anything is weighed. What weighs and what
 * writes is done one after the other, so that two reservations at once cannot spend the same
 * credit.
 */
export class TenantLedger {
  readonly tenantId: TenantId;
  readonly #store: SessionStore;
  readonly #usual: Account["limit"] | null;
  readonly #nowMs: () => number;
  #sums: Sums = noSums();
  #allowance: Allowance | null = null;
  readonly #checkpoint: SumsCheckpoint;
  #last: Promise<unknown> = Promise.resolve();
  #working = 0;
  #isClosed = false;
  #waiters = new Set<() => void>();
  readonly #warnings = new TenantWarnings();

  constructor(
    store: SessionStore,
    tenantId: TenantId,
    usual: Account["limit"] | null,
    nowMs: () => number,
  ) {
    this.#store = store;
    this.tenantId = tenantId;
    this.#usual = usual;
    this.#nowMs = nowMs;
    this.#checkpoint = new SumsCheckpoint(store, tenantId);
  }

  /** As far as they are known; up to date only inside of `inTurn`. */
  get sums(): Sums {
    return this.#sums;
  }

  /** As it was when it was last read, which is before anything is weighed; null before that. */
  get allowance(): Allowance | null {
    return this.#allowance;
  }

  get isIdle(): boolean {
    return this.#working === 0 && this.#waiters.size === 0 && !this.#isClosed;
  }

  /** Nothing is done with it any more, and what is being done has ended when this answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  /**
   * Does something with sums and an allowance that are up to date, when everything before it is
   * done. The allowance is one small read: so what another process allows or forbids counts from
   * the next turn on, and not from the next sweep.
   */
  inTurn<Value>(act: (allowance: Allowance) => Promise<Result<Value>>): Promise<Result<Value>> {
    if (this.#isClosed) return Promise.resolve(fail("tenant_deleting"));
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
  reserve(order: ReservationRequest, amountMicro: number): Promise<Result<void>> {
    return this.inTurn((allowance) => this.#reserve(allowance, order, 0, amountMicro));
  }

  /** More for a turn: all of it, or else the least that it needs; answers how much. */
  slice(order: ReservationRequest, n: number, amountMicro: number, leastMicro: number) {
    return this.inTurn(async (allowance): Promise<Result<number>> => {
      const { turnId } = order;
      // A slice whose outcome was unknown may be there, and then is not taken again.
      const standing = await this.#find(keyOf({ kind: "reserve", turnId, n, amountMicro }));
      if (!standing.ok) return standing;
      if (standing.value !== null) return ok(standing.value.amountMicro);
      const whole = await this.#reserve(allowance, order, n, amountMicro);
      if (whole.ok) return ok(amountMicro);
      // The last of the credit is used up before a turn is ended for want of it.
      const isPoor = whole.refusal.code === "insufficient_credits";
      if (!isPoor || amountMicro === leastMicro) return whole;
      const least = await this.#reserve(allowance, order, n, leastMicro);
      return least.ok ? ok(leastMicro) : least;
    });
  }

  /** What every limit leaves bounds every sum of what is open, so no entry can be too large. */
  async #reserve(
    allowance: Allowance,
    order: ReservationRequest,
    n: number,
    amountMicro: number,
  ): Promise<Result<void>> {
    const weighed = await this.#weigh(allowance, order, amountMicro, "now");
    if (!weighed.ok) return weighed;
    const { turnId, userId, key, isAside } = order;
    const line = plainLine({ kind: "reserve", turnId, n, amountMicro }, userId, isAside);
    return this.#append([line], key.sessionId);
  }

  afford(order: ReservationRequest, amountMicro: number, when: Weighing): Promise<Result<void>> {
    return this.inTurn((allowance) => this.#weigh(allowance, order, amountMicro, when));
  }

  async #weigh(
    allowance: Allowance,
    order: ReservationRequest,
    amountMicro: number,
    when: Weighing,
  ): Promise<Result<void>> {
    const { userId, key } = order;
    const isMeant = isMonthly(allowance, order);
    const share = { userId, sessionId: order.monthBudgetMicro === null ? null : key.sessionId };
    const month = isMeant ? await this.monthUse(share) : ok(null);
    if (!month.ok) return month;
    const scales: Scales = { sums: this.#sums, allowance, month: month.value };
    const why = refusalOf(scales, order, amountMicro, when);
    return why === null ? DONE : { ok: false, refusal: why };
  }

  /** What was charged in this month, which is the one of the clock now. Only inside of `inTurn`. */
  monthUse(share: MonthShare): Promise<Result<MonthUse>> {
    const { tenantId } = this;
    const ledger = { store: this.#store, tenantId, sums: this.#sums };
    return monthUse(ledger, monthOf(this.#nowMs()), share);
  }

  /** Counts this user too, however many others there are. Only inside of `inTurn`. */
  async count(userId: UserId): Promise<Result<void>> {
    const { userMicro } = this.#allowance ?? { userMicro: new Map() };
    return this.#countAll(new Set([...userMicro.keys(), userId]));
  }

  /** Adds what has happened already, all of it or nothing; there may be more to spend then. */
  async record(lines: readonly LedgerLine[], sessionId: SessionId): Promise<Result<void>> {
    const recorded = await this.inTurn(() => this.#append(lines, sessionId));
    if (recorded.ok) this.raised();
    return recorded;
  }

  /** Adds a grant; the very same one again changes nothing, however late it comes. */
  async grant(line: LedgerLine, audit: JournalEntry): Promise<Result<void>> {
    const granted = await this.inTurn(async () => {
      const known = await this.#find(keyOf(line));
      if (!known.ok) return known;
      if (known.value !== null) return this.#repeated(line, known.value);
      const posting = postEntry(this.#sums.account, line, null);
      if (posting.kind === "refused") return { ok: false, refusal: posting.refusal } as const;
      const added = await this.#append([line], null, [audit]);
      if (added.ok || added.refusal.code !== "journal_conflict") return added;
      // Another process was faster with this id.
      const others = await this.#find(keyOf(line));
      return others.ok ? this.#repeated(line, others.value) : others;
    });
    if (granted.ok) this.raised();
    return granted;
  }

  /** Takes a grant back; again changes nothing, however late that comes. */
  async revoke(
    revocation: LedgerLine,
    auditOf: (amountMicro: number) => JournalEntry,
  ): Promise<Result<void>> {
    const { turnId } = revocation;
    return this.inTurn(async () => {
      const granted = await this.#find(keyOf({ ...revocation, kind: "grant" }));
      if (!granted.ok) return granted;
      if (granted.value === null) return fail("credit_grant_not_found", { id: turnId });
      const { amountMicro } = granted.value;
      const line = { ...revocation, amountMicro };
      const known = await this.has(keyOf(line));
      if (!known.ok || known.value) return known.ok ? DONE : known;
      const posting = postEntry(this.#sums.account, line, null);
      if (posting.kind === "refused") return { ok: false, refusal: posting.refusal } as const;
      const added = await this.#append([line], null, [auditOf(amountMicro)]);
      // Another process was faster: then it has taken back the same.
      return added.ok || added.refusal.code !== "journal_conflict" ? added : this.#follow();
    });
  }

  /**
   * Releases all that this turn holds. A verdict's own release has the number 0, so these begin at
   * 1: they can never stand in the way of a verdict.
   */
  release(turnId: TurnId): Promise<Result<void>> {
    return this.inTurn(async () => {
      for (let n = 1; n <= RELEASES_MAX; n += 1) {
        const amountMicro = this.#sums.account.openByTurn.get(turnId) ?? 0;
        if (amountMicro === 0) return DONE;
        const turn = this.#sums.open.get(turnId);
        const { sessionId = null, userId = null, isAside = false } = turn ?? {};
        const line = plainLine({ kind: "release", turnId, n, amountMicro }, userId, isAside);
        const released = await this.#append([line], sessionId);
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
    return this.inTurn(async () => {
      const changed = await changeAllowance(this.#store, this.tenantId, change, audit);
      if (!changed.ok) return changed;
      this.#allowance = this.#asUsual(changed.value);
      this.raised();
      return DONE;
    });
  }

  /**
   * Reads again what others may have changed, and wakes those who wait: whether any of that is
   * news to them they find out by asking again.
   */
  refresh(): Promise<Result<void>> {
    return this.inTurn(async () => {
      this.raised();
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
    return this.#warnings.take(sessionId);
  }

  /** Whether the journal has this entry. */
  async has(key: string): Promise<Result<boolean>> {
    const found = await this.#find(key);
    return found.ok ? ok(found.value !== null) : found;
  }

  async #find(key: string): Promise<Result<StatementLine | null>> {
    const query = { journal: "ledger", key, after: 0, limit: 1 } as const;
    const found = await this.#store.readJournal(this.tenantId, query);
    if (!found.ok) return found;
    const [row] = found.value.rows;
    return ok(row === undefined ? null : readLine(row));
  }

  async #append(
    lines: readonly LedgerLine[],
    sessionId: SessionId | null,
    audit: readonly JournalEntry[] = [],
  ): Promise<Result<void>> {
    const atMs = this.#nowMs();
    const entries = lines.map((line) => journalEntry(line, sessionId, atMs));
    const appended = await this.#store.appendJournal(this.tenantId, [...entries, ...audit]);
    return appended.ok ? this.#follow() : appended;
  }

  async #load(): Promise<Result<Allowance>> {
    const read = await readAllowance(this.#store, this.tenantId);
    if (!read.ok) return read;
    const { version: _, ...said } = read.value;
    const allowance = this.#asUsual(said);
    if (this.#allowance !== null) {
      this.#allowance = allowance;
      const counted = await this.#countBudgeted(allowance);
      return counted.ok ? ok(allowance) : counted;
    }
    const sums = await this.#checkpoint.read();
    if (!sums.ok) return sums;
    this.#sums = sums.value;
    const counted = await this.#countBudgeted(allowance);
    if (!counted.ok) return counted;
    const followed = await this.#follow("silently");
    if (!followed.ok) return followed;
    this.#allowance = allowance;
    return ok(allowance);
  }

  #asUsual(said: Allowance): Allowance {
    return { ...said, limit: said.limit ?? this.#usual };
  }

  /** Before the journal is followed, so that no charge of theirs is passed over. */
  #countBudgeted({ userMicro }: Allowance): Promise<Result<void>> {
    return this.#countAll(new Set(userMicro.keys()));
  }

  async #countAll(users: ReadonlySet<UserId>): Promise<Result<void>> {
    const { tenantId } = this;
    const ledger = { store: this.#store, tenantId, sums: this.#sums };
    const counted = await withCounted(ledger, users);
    if (!counted.ok) return counted;
    // What had to be read for it is written down soon, so that the next start need not read it.
    if (counted.value !== this.#sums) this.#checkpoint.hurry();
    this.#sums = counted.value;
    return DONE;
  }

  /** Reads on to the journal's end. */
  async #follow(how: "watching" | "silently" = "watching"): Promise<Result<void>> {
    for (let more = true; more; ) {
      const query = { journal: "ledger", after: this.#sums.seq, limit: PAGE_ROWS_MAX } as const;
      const page = await this.#store.readJournal(this.tenantId, query);
      if (!page.ok) return page;
      for (const row of page.value.rows) {
        const line = readLine(row);
        if (line === null) {
          const reason = `entry ${row.seq} of the ledger cannot be read`;
          return fail("store_unavailable", { reason });
        }
        const before = chargedSoFar(this.#sums, line);
        this.#sums = withLine(this.#sums, line);
        if (how === "silently" || this.#allowance === null) continue;
        const after = chargedSoFar(this.#sums, line);
        this.#warnings.watch(line, this.#allowance, monthOf(this.#nowMs()), before, after);
      }
      more = page.value.more;
    }
    await this.#checkpoint.write(this.#sums);
    return DONE;
  }

  /** The same amount with the same note is the same grant, from any caller. */
  async #repeated(line: LedgerLine, known: LedgerLine | null): Promise<Result<void>> {
    const { kind, turnId, n, amountMicro, note } = line;
    if (known?.amountMicro !== amountMicro || known.note !== note) {
      return fail("ledger_conflict", { turnId, kind, n });
    }
    const revoked = await this.has(keyOf({ ...line, kind: "revoke" }));
    if (!revoked.ok) return revoked;
    return revoked.value ? fail("credit_grant_revoked", { id: turnId }) : DONE;
  }
}

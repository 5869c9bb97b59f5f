import { fail, ok, type Result } from "../result.ts";
import type { SessionCache } from "./cache.ts";
import type { TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";
import { step } from "./step.ts";

/**
 * The sessions that one transaction touches. Each row is read once and written once, however many
 * commits of the session came together: this is what makes a group commit cheap.
 */
export class Batch {
  readonly db: TenantDatabase;
  /** Sessions that were opened in this batch, and the terms under which; null if given up. */
  readonly claims = new Map<string, number | null>();
  readonly #cache: SessionCache;
  readonly #read = new Map<string, rows.SessionRow>();
  readonly #changed = new Map<string, rows.SessionRow>();
  readonly #whole = new Set<string>();
  #lastNumber: number | null = null;
  #lastTerm: number | null = null;

  constructor(db: TenantDatabase) {
    this.db = db;
    this.#cache = db.sessions;
  }

  has(sessionId: string): boolean {
    return this.#known(sessionId) !== undefined || this.#row(sessionId) !== undefined;
  }

  /** Whose session it is comes first: a foreign one is not damaged, only foreign. */
  session(sessionId: string, storeId: string): Result<rows.SessionRow> {
    const known = this.#known(sessionId);
    if (known !== undefined && known.storeId === storeId) return ok(known);
    const row = this.#row(sessionId);
    if (row === undefined) return fail("session_not_found", { sessionId });
    if (row.store_id !== storeId) {
      return fail("resume_mismatch", { stored: String(row.store_id), active: storeId });
    }
    const session = rows.readSession(row);
    if (session.ok) this.#read.set(sessionId, session.value);
    return session;
  }

  insert(session: rows.SessionRow) {
    this.db.run(rows.INSERT_SESSION, ...rows.sessionValues(session));
    this.#read.set(session.sessionId, session);
  }

  change(session: rows.SessionRow) {
    this.#changed.set(session.sessionId, session);
    this.#whole.add(session.sessionId);
  }

  /** Only the end of its log has moved. */
  append(session: rows.SessionRow) {
    this.#changed.set(session.sessionId, session);
  }

  forget(sessionId: string) {
    this.#read.delete(sessionId);
    this.#changed.delete(sessionId);
    this.#cache.delete(sessionId);
  }

  /** What the transaction has made true is known from now on. */
  settle() {
    for (const session of this.#read.values()) this.#cache.set(session);
    for (const session of this.#changed.values()) this.#cache.set(session);
  }

  nextNumber(): number {
    this.#lastNumber ??= Number(this.db.get(LAST_NUMBER)?.last ?? 0);
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  /** Terms are never used twice, not even by a session made anew under a deleted one's id. */
  nextTerm(): number {
    this.#lastTerm ??= Number(this.db.get(LAST_TERM)?.value ?? 0);
    this.#lastTerm += 1;
    return this.#lastTerm;
  }

  slotOwners(number: number): ReadonlySet<string> {
    const owners = this.db.all("SELECT owner FROM slots WHERE number = ?", number);
    return new Set(owners.map(({ owner }) => String(owner)));
  }

  /** Writes what has changed, at the end of the transaction. */
  flush() {
    if (this.#lastTerm !== null) this.db.run(WRITE_LAST_TERM, String(this.#lastTerm));
    for (const session of this.#changed.values()) {
      const { sessionId, number } = session;
      if (this.#whole.has(sessionId)) {
        this.db.run(rows.UPDATE_SESSION, ...rows.sessionValues(session), number);
      } else {
        this.db.run(rows.UPDATE_POSITION, ...rows.positionValues(session), number);
      }
      step("sqlite-amid-flush");
    }
  }

  #known(sessionId: string): rows.SessionRow | undefined {
    return this.#changed.get(sessionId) ?? this.#read.get(sessionId) ?? this.#cache.get(sessionId);
  }

  #row(sessionId: string) {
    return this.db.get("SELECT * FROM sessions WHERE session_id = ?", sessionId);
  }
}

const LAST_TERM = "SELECT value FROM meta WHERE name = 'last_term'";
const WRITE_LAST_TERM = "INSERT OR REPLACE INTO meta (name, value) VALUES ('last_term', ?)";
const LAST_NUMBER = "SELECT max(number) AS last FROM sessions";

import { randomInt } from "node:crypto";
import { EVENT_RUN_CHARS_MAX, SESSION_ROWS_CACHED_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { type Holder, readHolder } from "../holder.ts";
import type { TenantDatabase } from "./database.ts";
import { step } from "./failpoint.ts";
import * as rows from "./row.ts";
import { INSERT_RUN, runValues, type SessionRow } from "./row.ts";
import { SearchIndex } from "./search-index.ts";

/** Events of one session that wait for their row. */
interface OpenRun {
  readonly firstId: number;
  readonly texts: string[];
  chars: number;
}

/**
 * The sessions that one transaction touches. Each row is read once and written once, however many
 * commits of the session came together, and their events share rows: this is what makes a group
 * commit cheap.
 */
export class WriteBatch {
  readonly db: TenantDatabase;
  /** Whether no other call waits for the end of the transaction. */
  readonly mayTakeLong: () => boolean;
  /** Sessions that were opened in this batch, and the terms under which; null if given up. */
  readonly claims = new Map<string, number | null>();
  readonly counters: Counters;
  readonly search: SearchIndex;
  readonly #cache: SessionCache;
  readonly #runs = new Map<number, OpenRun>();
  readonly #read = new Map<string, rows.SessionRow>();
  readonly #changed = new Map<string, rows.SessionRow>();
  readonly #whole = new Set<string>();

  constructor(db: TenantDatabase, mayTakeLong: () => boolean = () => false) {
    this.db = db;
    this.mayTakeLong = mayTakeLong;
    this.counters = new Counters(db);
    this.search = new SearchIndex(db);
    this.#cache = db.sessions;
  }

  has(sessionId: string): boolean {
    return this.#known(sessionId) !== undefined || this.#row(sessionId) !== undefined;
  }

  /** Whose session it is comes first: a foreign one is not damaged, only foreign. */
  session(sessionId: string): Result<rows.SessionRow> {
    const known = this.#known(sessionId);
    if (known !== undefined && known.storeId === rows.STORE_ID) return ok(known);
    const row = this.#row(sessionId);
    if (row === undefined) return fail("session_not_found", { sessionId });
    if (row.store_id !== rows.STORE_ID) {
      return fail("resume_mismatch", { stored: String(row.store_id), active: rows.STORE_ID });
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

  addEvents(number: number, firstId: number, texts: readonly string[]) {
    for (const [index, text] of texts.entries()) {
      const run = this.#runs.get(number) ?? { firstId: firstId + index, texts: [], chars: 0 };
      this.#runs.set(number, run);
      run.texts.push(text);
      run.chars += text.length + LENGTH_CHARS;
      if (run.chars >= EVENT_RUN_CHARS_MAX) this.writeEvents(number);
    }
  }

  /** Before anything looks at a session's events, those that wait have to be there. */
  writeEvents(number: number) {
    const run = this.#runs.get(number);
    if (run !== undefined) this.db.run(INSERT_RUN, number, ...runValues(run));
    this.#runs.delete(number);
  }

  /**
   * What is still known of a session whose row is damaged. A number that an index gives
   * must be the session's own, or another session would be meant by it.
   */
  remains(sessionId: string): { readonly number: number | null; readonly holder: Holder | null } {
    const row = this.#row(sessionId);
    const number = Number(row?.number);
    const isOwn = this.db.get(ID_BY_NUMBER, number)?.session_id === sessionId;
    return { number: isOwn ? number : null, holder: readHolder(String(row?.holder ?? "")) };
  }

  forget(sessionId: string, number: number) {
    this.#runs.delete(number);
    this.#read.delete(sessionId);
    this.#changed.delete(sessionId);
    this.#cache.delete(sessionId);
  }

  /** What the transaction has made true is known from now on. */
  settle() {
    for (const session of this.#read.values()) this.#cache.set(session);
    for (const session of this.#changed.values()) this.#cache.set(session);
  }

  slotBytes(number: number): ReadonlyMap<string, number> {
    const slots = this.db.all(SLOT_BYTES, number);
    return new Map(slots.map(({ owner, bytes }) => [String(owner), Number(bytes)]));
  }

  /** Writes what has changed, at the end of the transaction. */
  flush() {
    for (const number of [...this.#runs.keys()]) this.writeEvents(number);
    step("sqlite-after-events");
    this.search.flush();
    step("sqlite-after-search");
    this.counters.flush();
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

const ID_BY_NUMBER = "SELECT session_id FROM sessions NOT INDEXED WHERE number = ?";
/** What the length of an event takes beside its text, or about that. */
const LENGTH_CHARS = 4;

const SLOT_BYTES = "SELECT owner, length(payload) AS bytes FROM slots WHERE number = ?";

/**
 * Numbers that only rise, and counts: what tells that something is missing. Within a transaction
 * each is read once and written once.
 */
export class Counters {
  readonly #db: TenantDatabase;
  readonly #values = new Map<string, number>();
  readonly #changed = new Set<string>();

  constructor(db: TenantDatabase) {
    this.#db = db;
  }

  get(name: string): number {
    const value = this.#values.get(name) ?? readCounter(this.#db, name);
    this.#values.set(name, value);
    return value;
  }

  /** Moves it on, and answers with its new value. */
  add(name: string, by = 1): number {
    const value = this.get(name) + by;
    this.#values.set(name, value);
    this.#changed.add(name);
    return value;
  }

  flush() {
    for (const name of this.#changed) {
      writeCounter(this.#db, name, this.get(name));
    }
  }
}

/** Nothing that depends on a counter can be believed if the counter cannot. */
export function readCounter(db: TenantDatabase, name: string): number {
  const row = db.get("SELECT value, checksum FROM counters WHERE name = ?", name);
  if (row === undefined) return 0;
  const value = Number(row.value);
  if (row.checksum !== rows.rowChecksum(name, value)) throw new rows.RowDamage(`counter ${name}`);
  return value;
}

/**
 * A new database begins its terms where no earlier one of the same tenant can have had them: a
 * late write to a removed database is never taken for that of a present owner.
 */
export function beginTerms(db: TenantDatabase) {
  writeCounter(db, LAST_TERM, randomInt(FIRST_TERM_MAX));
}

/** The same for a copy: terms rise, past those that were given after it was made. */
export function leapTerms(db: TenantDatabase) {
  writeCounter(db, LAST_TERM, readCounter(db, LAST_TERM) + randomInt(TERM_LEAP_MAX));
}

function writeCounter(db: TenantDatabase, name: string, value: number) {
  db.run(WRITE_COUNTER, name, value, rows.rowChecksum(name, value));
}

/** All that `randomInt` takes; safe integers are 32 times as many. */
const FIRST_TERM_MAX = 2 ** 48 - 1;
/** A database can be restored thousands of times before it is out of terms. */
const TERM_LEAP_MAX = 2 ** 40;

const WRITE_COUNTER = "INSERT OR REPLACE INTO counters (name, value, checksum) VALUES (?, ?, ?)";

export const LAST_TERM = "last term";
export const LAST_NUMBER = "last number";
export const lastEntryOf = (journal: string) => `last entry of ${journal}`;
export const documentsOf = (kind: string) => `documents of ${kind}`;

/**
 * The session rows of one database that the writing thread has checked and need not read again.
 * They hold as long as no other connection writes to the database, which SQLite tells by a number.
 */
export class SessionCache {
  readonly #rows = new BoundedMap<string, SessionRow>(SESSION_ROWS_CACHED_MAX);
  #dataVersion: number | null = null;

  /** Called at the start of every transaction. */
  seen(dataVersion: number) {
    if (dataVersion !== this.#dataVersion) this.#rows.clear();
    this.#dataVersion = dataVersion;
  }

  get(sessionId: string): SessionRow | undefined {
    return this.#rows.get(sessionId);
  }

  set(session: SessionRow) {
    this.#rows.set(session.sessionId, session);
  }

  delete(sessionId: string) {
    this.#rows.delete(sessionId);
  }
}

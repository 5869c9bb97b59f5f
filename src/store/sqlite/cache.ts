import { SESSION_ROWS_CACHED_MAX } from "../../core/limits.ts";
import type { SessionRow } from "./row.ts";

/**
 * The session rows of one database that the writing thread has checked and need not read again.
 * They hold as long as nobody else writes to the database, which SQLite tells by a number.
 */
export class SessionCache {
  readonly #rows = new Map<string, SessionRow>();
  #dataVersion: number | null = null;

  /** To be told at the start of every transaction. */
  seen(dataVersion: number) {
    if (dataVersion !== this.#dataVersion) this.#rows.clear();
    this.#dataVersion = dataVersion;
  }

  get(sessionId: string): SessionRow | undefined {
    return this.#rows.get(sessionId);
  }

  set(session: SessionRow) {
    this.#rows.delete(session.sessionId);
    this.#rows.set(session.sessionId, session);
    const [oldest] = this.#rows.keys();
    if (this.#rows.size > SESSION_ROWS_CACHED_MAX && oldest !== undefined) this.delete(oldest);
  }

  delete(sessionId: string) {
    this.#rows.delete(sessionId);
  }
}

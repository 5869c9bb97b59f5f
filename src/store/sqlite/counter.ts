import { randomInt } from "node:crypto";
import type { TenantDatabase } from "./database.ts";
import * as rows from "./row.ts";

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
  if (row.checksum !== rows.rowChecksum(name, value)) throw new rows.Damage(`counter ${name}`);
  return value;
}

/**
 * A new database begins its terms where no earlier one of the same tenant can have had them:
 * nobody's late write to one that was removed is taken for that of a present owner.
 */
export function beginTerms(db: TenantDatabase) {
  writeCounter(db, LAST_TERM, randomInt(FIRST_TERM_MAX));
}

/** The same for a copy: terms rise, past those that were given after it was made. */
export function leapTerms(db: TenantDatabase) {
  writeCounter(db, LAST_TERM, readCounter(db, LAST_TERM) + randomInt(TERM_LEAP_MAX));
}

function writeCounter(db: TenantDatabase, name: string, value: number) {
  db.run(WRITE, name, value, rows.rowChecksum(name, value));
}

/** All that `randomInt` takes; safe integers are 32 times as many. */
const FIRST_TERM_MAX = 2 ** 48 - 1;
/** A database can be restored thousands of times before it is out of terms. */
const TERM_LEAP_MAX = 2 ** 40;

const WRITE = "INSERT OR REPLACE INTO counters (name, value, checksum) VALUES (?, ?, ?)";

export const LAST_TERM = "last term";
export const LAST_NUMBER = "last number";
export const lastEntryOf = (journal: string) => `last entry of ${journal}`;
export const documentsOf = (kind: string) => `documents of ${kind}`;

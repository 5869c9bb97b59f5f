/** Limits of the ledger, its accounts and its reports. */

/** Entries after which the sums are written down: opening reads no more than about as many. */
export const LEDGER_ENTRIES_UNSUMMED_MAX = 1_000;

/** Turns of an unmetered tenant after which its sums are brought up to date, though nobody asks. */
export const LEDGER_SETTLED_UNREAD_MAX = 500;

/** Open reservations that fit into the written sums; beyond them none are written for a while. */
export const LEDGER_OPEN_TURNS_MAX = 2_000;

/** Users of one tenant whose charges are summed up; those with a budget are always among them. */
export const LEDGER_USERS_MAX = 5_000;

/**
 * Sessions of one tenant of which it is known what questions beside them have cost. A budget of a
 * session counts them as long as it is among these, which are the ones that were asked last.
 */
export const LEDGER_ASIDE_SESSIONS_MAX = 5_000;

/** Budgets of users in one tenant. */
export const USER_BUDGETS_MAX = 1_000;

/** Tenants whose accounts are held in memory; the one unused for longest makes room. */
export const LEDGERS_HELD_MAX = 1_000;

/** Numbers tried for a release beside the one of the verdict: more than two are never there. */
export const RELEASES_MAX = 8;

/** How often reservations without a turn are looked for, and how many of a tenant at a time. */
export const CREDIT_SWEEP_MS = 60_000;
export const CREDIT_SWEEP_SESSIONS_MAX = 100;

/** How long a turn waits before it asks for credits again that the store could not give. */
export const CREDIT_RETRY_MS = 1_000;

/** A price file, and the models and agents in it. */
export const PRICE_FILE_BYTES_MAX = 1_024 * 1_024;
export const PRICES_MAX = 10_000;

/** A grant's own id, and the words that may be said about it. */
export const GRANT_NOTE_CHARS_MAX = 1_000;

/** Entries of a statement in one answer, and how many are usual. */
export const STATEMENT_ROWS_MAX = 1_000;
export const STATEMENT_ROWS_DEFAULT_MAX = 100;

/** Entries that are looked at for one page of a statement, which may be of a short time only. */
export const STATEMENT_ROWS_SEARCHED_MAX = 10_000;

/** Lines of a usage report; whatever else there is comes together in one called `other`. */
export const USAGE_GROUPS_MAX = 10_000;

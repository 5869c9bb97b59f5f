/** One commit of a store: a turn's events, messages and slots together. */
export const COMMIT_BYTES_MAX = 64 * 1_024 * 1_024;

/** One slot; an extension with more to say keeps it in a blob. */
export const SLOT_BYTES_MAX = 16 * 1_024 * 1_024;

/** Slots of one session, those of absent owners included, and all of them together. */
export const SLOTS_MAX = 1_024;
export const SLOTS_BYTES_MAX = 64 * 1_024 * 1_024;

/** One attachment, skill or persona body. */
export const BLOB_BYTES_MAX = 32 * 1_024 * 1_024;

/** A tenant document is small by definition. */
export const DOCUMENT_BYTES_MAX = 1_024 * 1_024;

/** What a backup may say of itself: hundreds of thousands of tenants fit. */
export const BACKUP_CONTENTS_BYTES_MAX = 64 * 1_024 * 1_024;

/** Rows of one page of anything; a reader comes back for more. */
export const PAGE_ROWS_MAX = 1_000;

/** Bytes of one page; a page that passes this by its first row has that row only. */
export const PAGE_BYTES_MAX = 8 * 1_024 * 1_024;

/**
 * What one step of a branch copies: the store's thread has other commits to write between two.
 * While none waits, a step is so many times as much.
 */
export const PAST_STEP_BYTES_MAX = 256 * 1_024;
export const PAST_STEP_PAGES_MAX = 8;

/** Steps of branches that the store's thread has at a time, of all branches that are being made. */
export const PAST_STEPS_AT_ONCE_MAX = 1;

/** What a row weighs beside its text: without this, a million empty events weigh nothing. */
export const STORE_ROW_BYTES = 64;

/** Texts of a session's record; a path may be this long on the systems we know. */
export const RECORD_TEXT_CHARS_MAX = 4_096;

/** Names of slots, documents and journal entries: they are keys, not texts. */
export const STORE_NAME_CHARS_MAX = 512;

/** Databases that one thread keeps open; more tenants than that take turns. */
export const TENANT_DATABASES_OPEN_MAX = 128;

/** Statements that a database keeps prepared: all of ours, and the filters of some lists. */
export const STATEMENTS_PREPARED_MAX = 256;

/**
 * Pages of a tenant's write-ahead log that are put into its database in one go, 4 MiB: it holds
 * up the commits that come meanwhile, so it is little, and done when those before are answered.
 */
export const LOG_PAGES_MAX = 1_000;

/** At so many, 16 MiB, a commit itself does it, if nothing else could. */
export const LOG_PAGES_LEFT_MAX = 4_000;

/**
 * What a tenant's write-ahead log keeps of its disk once it has been put away. That happens at
 * about 4 MiB, so in daily work nothing is ever cut off, and nothing has to grow again.
 */
export const LOG_KEPT_BYTES_MAX = 32 * 1_024 * 1_024;

/** Session rows that the writing thread knows by heart, for each tenant. */
export const SESSION_ROWS_CACHED_MAX = 4_096;

/** Calls that may wait for the store's thread; beyond this the store says that it is busy. */
export const STORE_CALLS_WAITING_MAX = 100_000;

/** And what they may weigh together; it is also what one transaction can come to. */
export const STORE_BYTES_WAITING_MAX = 256 * 1_024 * 1_024;

/** A read that finds more calls than these before it starts a second thread. */
export const STORE_CALLS_ALONE_MAX = 8;

/** So does a read that takes longer: until then it holds up the commits of all tenants. */
export const STORE_READ_ALONE_MS_MAX = 15;

/** Calls with large answers that one thread has at a time: as many pages may be in memory. */
export const STORE_HEAVY_CALLS_MAX = 8;

/** How soon a thread that ended by itself is replaced; it doubles while none lives to answer. */
export const STORE_THREAD_RESTART_MS_MIN = 20;
export const STORE_THREAD_RESTART_MS_MAX = 5_000;

/** What the raw events kept for exact reconnects may weigh: two of the longest turns fit. */
export const EVENTS_KEPT_BYTES_MAX = 64 * 1_024 * 1_024;

/** How finely that is weighed; what is lighter than this is evicted together. */
export const EVENTS_KEPT_STRETCH_BYTES = 1_024 * 1_024;

/** Events of one session that were appended together share a row, up to this size. */
export const EVENT_RUN_CHARS_MAX = 64 * 1_024;

/** Shorter values than this are common words, not keys; hiding them would make texts unreadable. */
export const SECRET_CHARS_MIN = 8;

/** A chain of certificates with its key fits; what is larger is a file and no secret. */
export const SECRET_CHARS_MAX = 64 * 1_024;

/** Secrets known at a time: a text is compared with all of them. */
export const SECRETS_KNOWN_MAX = 1_024;

/** One file of `--secrets-dir`: as much as a secret may have, and a newline. */
export const SECRET_FILE_BYTES_MAX = 64 * 1_024;

/** Files of `--secrets-dir`; half of the secrets that can be known, so that replaced ones fit. */
export const SECRET_FILES_MAX = 512;

/** Values that were replaced, or whose agent is gone, and that people may still repeat. */
export const SECRETS_REPLACED_MAX = 256;

/** How long the end of a chunk is held that may begin a secret: shorter than people notice. */
export const SECRET_HELD_MS = 100;

/** Texts of one agent of which the last end that may begin a secret is remembered. */
export const SECRET_STREAMS_MAX = 16;

/** How often the server looks for changed secrets. */
export const SECRET_SCAN_MS = 5_000;

/** Locations that a refusal for a secret names; after a fix the caller tries again anyway. */
export const LEAK_PATHS_MAX = 16;
export const LEAK_PATH_CHARS_MAX = 256;

/** What the look at a store's health writes: a disk with less room than this counts as full. */
export const STORE_PROBE_BYTES = 64 * 1_024;

/** Databases that one such look opens; the next look goes on behind them. */
export const STORE_TENANTS_CHECKED_MAX = 64;

/** A database that a call found damaged is read whole to see whether it still is, up to this. */
export const STORE_REREAD_BYTES_MAX = 64 * 1_024 * 1_024;

/** Free pages that one step of a vacuum gives back: 1 MiB, while calls wait. */
export const VACUUM_STEP_PAGES_MAX = 256;

/** Free pages that a database keeps for what comes next. */
export const VACUUM_KEPT_PAGES_MAX = 64;

/** What is searched of one message: behind so many pages a word says little of it. */
export const SEARCH_TEXT_CHARS_MAX = 64 * 1_024;

/** And of the messages of one commit, which is made while others wait. */
export const SEARCH_COMMIT_CHARS_MAX = 256 * 1_024;

/** A word is found by its first characters; what goes on for longer is a key, or a picture. */
export const SEARCH_WORD_CHARS_MAX = 64;

/** Parts of a word such as `fixLoginBug` by which it is found, too. */
export const SEARCH_WORD_HUMPS_MAX = 8;

/** A query and its words: each of them is looked up by itself. */
export const SEARCH_QUERY_CHARS_MAX = 512;
export const SEARCH_QUERY_WORDS_MAX = 16;

/** Pairs of a run of Chinese or Japanese that are looked up; the text itself tells the rest. */
export const SEARCH_QUERY_PAIRS_MAX = 16;

/** A shorter word is found as a whole word only: too many begin with it. */
export const SEARCH_BEGINNING_CHARS_MIN = 3;

/** What is shown of a message around what was found in it, and of that before the first word. */
export const SEARCH_EXCERPT_CHARS_MAX = 240;
export const SEARCH_EXCERPT_BEFORE_CHARS = 48;

/** Words marked in one message, of which those in the excerpt are shown. */
export const SEARCH_MARKS_MAX = 512;

/** Entries of the index that one call to the store looks at: some milliseconds of its thread. */
export const SEARCH_ENTRIES_READ_MAX = 10_000;

/** What those of them may weigh that are read whole; one is always read. */
export const SEARCH_READ_BYTES_MAX = 4 * 1_024 * 1_024;

/** Messages that one step of building an index reads, and what they may weigh. */
export const SEARCH_STEP_MESSAGES_MAX = 256;
export const SEARCH_STEP_BYTES_MAX = 256 * 1_024;

/** Such calls of one search. What is left after them is for its next page. */
export const SEARCH_CALLS_MAX = 100;

/** The longest pause between two such steps, in which the store's thread serves its calls. */
export const SEARCH_PAUSE_MS_MAX = 100;

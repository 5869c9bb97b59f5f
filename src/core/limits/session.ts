/** Names in one list of a tenant's policy. */
export const POLICY_NAMES_MAX = 64;

/** Events of one session that go into one commit, and all that wait for the store. */
export const ACTOR_BATCH_BYTES_MAX = 1_024 * 1_024;
export const ACTOR_BYTES_WAITING_MAX = 8 * 1_024 * 1_024;

/** What one turn may say, events and all; beyond it the server stops the turn. */
export const TURN_BYTES_MAX = 32 * 1_024 * 1_024;

/**
 * What all open turns may take, as a part of the heap of the process, and what one of them may take
 * of that: a turn that is folded takes several times its size, and the rest has to fit as well.
 */
export const TURN_MEMORY_HEAP_DIVISOR_MIN = 6;
export const TURN_MEMORY_DIVISOR_MIN = 4;

/** The most that may be chosen for all open turns, in mebibytes. */
export const TURN_MEMORY_MB_MAX = 1_024 * 1_024;

/** What an event that is held by itself takes beside its text: many small ones take more. */
export const TURN_EVENT_BYTES = 512;

/** Turns above this are folded and written one at a time. */
export const TURN_LARGE_BYTES = 1_024 * 1_024;
export const TURNS_SETTLED_AT_ONCE_MAX = 1;

/** Events outside of turns that may come together before they get a snapshot of their own. */
export const HISTORY_OPEN_EVENTS_MAX = 512;
export const HISTORY_OPEN_BYTES_MAX = 4 * 1_024 * 1_024;

/** Raw events that are kept for exact reconnects: the wire's ring has as many. */
export const EVENTS_KEPT_MAX = 8_000;

/** What is kept free of the disk unless the operator says otherwise, and the most of it. */
export const DISK_RESERVE_BYTES = 64 * 1_024 * 1_024;
export const DISK_MB_MAX = 1_024 * 1_024 * 1_024;

/** Below so many times of that, those who use most of the disk are refused first. */
export const DISK_SCARCE_TIMES_MAX = 16;

/** Percent of its quota at which a tenant is warned. */
export const DISK_WARNING_PERCENT_MIN = 80;

/** How long figures of the disk are good, and of how many tenants they are held. */
export const DISK_LOOK_MS = 1_000;
export const DISK_FIGURES_HELD_MAX = 1_000;

/** How long to wait before a session is opened again whose store has failed. */
export const STORE_REOPEN_MS_MIN = 50;
export const STORE_REOPEN_MS_MAX = 5_000;

/** Live sessions of one tenant and workspace. Stored ones are not counted. */
export const SESSIONS_LIVE_MAX = 20;

/** Workspaces of users whose shared session is known without asking the store. */
export const SHARED_SESSIONS_KNOWN_MAX = 1_024;

/** Users whom a private session is shared with, and those with its creator. */
export const SESSION_SHARED_USERS_MAX = 64;
export const SESSION_AUDIENCE_MAX = SESSION_SHARED_USERS_MAX + 1;

/** Sessions of which one report remembers whether its reader sees them. */
export const AUDIT_SESSIONS_REMEMBERED_MAX = 1_024;

/** How many idle sessions are tried for eviction to admit another, one after the other. */
export const EVICTIONS_TRIED_MAX = 32;

/** Stale sessions that are recovered at a time. */
export const RECOVERIES_AT_ONCE_MAX = 5;

/** A caller's refusals with one code that are audited one by one; of more, every doubling. */
export const REFUSALS_AUDITED_MAX = 256;

/** Pairs of caller and code that a live session counts apart; later ones share by their code. */
export const REFUSAL_COUNTS_MAX = 64;

/** How often an agent is tried for a session that waits for one, and the pauses between. */
export const ACTIVATIONS_MAX = 6;
export const ACTIVATION_RETRY_MS_MIN = 100;
export const ACTIVATION_RETRY_MS_MAX = 10_000;

/** How long the start of an agent waits for the answer to who brought its session back. */
export const AGENT_HELD_MS_MAX = 100;

/** How long a client has to read the answer to its prompt before its streams get the verdict. */
export const VERDICT_HELD_MS_MAX = 5_000;

/** How long a `turn_error` stays behind an answer of which it is not known whether it was read. */
export const VERDICT_ERROR_HELD_MS = 200;

/** How long after such an answer a `turn_complete` is repeated; at last at the maximum. */
export const VERDICT_REPEAT_SOON_MS = 50;
export const VERDICT_REPEAT_LATE_MS = 1_000;

/** Such answers that a session remembers; with more the oldest are forgotten early. */
export const VERDICTS_UNCONFIRMED_MAX = 256;

/** A session that no client watches or uses for this long is evicted. */
export const SESSION_IDLE_MS = 30 * 60 * 1_000;
export const SESSION_REAP_MS = 60 * 1_000;

/** How long a sandbox may be on its way, and how long unused, before it counts as timed out. */
export const SANDBOX_PROVISIONING_MS_MAX = 10 * 60 * 1_000;
export const SANDBOX_IDLE_MS_MAX = 60 * 60 * 1_000;

/** How many turns are looked through for who gave a grant; the grant itself is never lost. */
export const GRANT_SEARCH_TURNS_MAX = 256;

/** How long running turns have to finish when the server stops, unless the operator says else. */
export const SHUTDOWN_DRAIN_MS = 10_000;

/** How long a start that a signal has stopped may take to end in good order. */
export const START_STOP_MS_MAX = 5_000;

/**
 * How long a signal may come again and still be the same one: a terminal sends Ctrl-C to all that
 * runs in it, and npm passes it on once more.
 */
export const SIGNAL_ECHO_MS_MAX = 1_000;

/** Sessions named in a sentence for the operator, where there are more. */
export const SESSIONS_NAMED_MAX = 3;

/** And how long each session then has to be ended in good order, in so many tries. */
export const SHUTDOWN_END_MS = 30_000;
export const SHUTDOWN_TRIES_MAX = 3;

/** How long all that is at work for a tenant has to end before it is deleted, or is not. */
export const TENANT_REMOVAL_MS_MAX = 60_000;

/** And how long each of its sessions has for that in good order, before it is dropped. */
export const TENANT_SESSION_END_MS_MAX = 15_000;

/** How often a command is retried on a session that was just being evicted. */
export const SUBMIT_TRIES_MAX = 8;

/** How often a session made for nothing is taken back, if its store fails each time. */
export const UNMAKING_TRIES_MAX = 8;

/** A client that shows no sign of life for this long is forgotten. */
export const CLIENT_IDLE_MS_MAX = 24 * 60 * 60 * 1_000;

/** Open streams of one session; the wire's figure. */
export const SUBSCRIBERS_MAX = 64;

/** What may wait for one subscriber, unless the client asks for more or fewer frames. */
export const SUBSCRIBER_QUEUE_FRAMES_MAX = 256;
export const SUBSCRIBER_QUEUE_BYTES_MAX = 2 * 1_024 * 1_024;

/** A reader for whom too much waits, and who takes nothing for this long, has stopped reading. */
export const SUBSCRIBER_STALL_MS = 5_000;

/** Events that one subscriber reads from the store at a time, for one write to a socket. */
export const SUBSCRIBER_PAGE_FRAMES_MAX = 512;

/** One snapshot in a stream. Beyond it, asks come by name only: clients limit what one frame is. */
export const SNAPSHOT_BYTES_MAX = 1_024 * 1_024;

/** Words to one subscriber alone that wait for it: there are hardly ever two. */
export const SUBSCRIBER_NOTICES_MAX = 16;

/** What a session's subscribers may hold of it together before they are sent to the store. */
export const TAIL_HELD_FRAMES_MAX = 8_192;
export const TAIL_HELD_BYTES_MAX = 8 * 1_024 * 1_024;

/** Open streams of one tenant's sessions, as its consoles have them. */
export const TENANT_SUBSCRIBERS_MAX = 256;

/** Changed sessions that wait for a slow tenant stream; beyond it the list begins again. */
export const TENANT_UPDATES_WAITING_MAX = 10_000;

/** How long a client's shell command may run; the wire's figure. */
export const SHELL_MS_MAX = 120_000;

/** How much of one command's output goes to a session's streams, and in what pieces. */
export const SHELL_OUTPUT_CHARS_MAX = 1_024 * 1_024;
export const SHELL_OUTPUT_CHUNK_CHARS_MAX = 64 * 1_024;

/** The pause between two such pieces: people do not read faster, and each is an event for ever. */
export const SHELL_OUTPUT_PAUSE_MS = 50;

/** From the request for a recap or an answer to the answer, its agent's start included. */
export const ASIDE_MS_MAX = 60_000;

/** Throw-away agent sessions that stand beside one session at a time. */
export const ASIDES_OPEN_MAX = 1;

/** A recap or an answer; the wire's figure for the text of a result. */
export const ASIDE_ANSWER_CHARS_MAX = 32_768;

/** A question beside the conversation; the wire's figure. */
export const BTW_QUESTION_CHARS_MAX = 4_096;

/** Sessions whose names are looked at, so that a fork's name is its own. */
export const FORK_NAMES_MAX = 100;

/** A name, id or code in an audit entry, and how many things an entry lists by their names. */
export const AUDIT_NAME_CHARS_MAX = 256;
export const AUDIT_LISTED_MAX = 16;

/** A name that an agent gave: the audit holds it as it is, and of a longer one the hash. */
export const AUDIT_AGENT_NAME_CHARS_MAX = 64;

/** An earlier conversation is read so many messages at a time, with so many tool calls. */
export const PAST_PAGE_ROWS_MAX = 64;
export const PAST_TOOL_LINES_MAX = 20;
export const PAST_TOOL_TITLE_CHARS_MAX = 200;

/**
 * How far back in the log interrupted turns are looked for: so many stretches of it, a few at a
 * time, and so many characters. What one message may hold leaves space for the others.
 */
export const PAST_LOG_ROWS_MAX = 64;
export const PAST_LOG_PAGE_ROWS_MAX = 8;
export const PAST_LOG_CHARS_MAX = 8 * 1_024 * 1_024;
export const PAST_INTERRUPTED_CHARS_MAX = 16_000;

/** A longer replay is parsed, cut and serialised in a turn of the event loop each. */
export const REPLAY_YIELD_CHARS = 256 * 1_024;

/**
 * A larger commit is decided in one turn of the event loop, and weighed and sent in another. Of the
 * end of a large turn so much is written in one turn of the loop, or one text.
 */
export const COMMIT_YIELD_CHARS = 256 * 1_024;

/**
 * Commits of a fork that are on their way to the store together; `ACTOR_BATCH_BYTES_MAX` bounds
 * them too. More of them would hold other requests for longer and make the fork hardly faster.
 */
export const FORK_COMMITS_AT_ONCE_MAX = 64;

/** An export leaves in pieces of about this many characters: fewer, and each costs too much. */
export const EXPORT_CHUNK_CHARS = 64 * 1_024;

/**
 * Each export is written in a process of its own. So many at a time, of which one is kept for
 * tenants that have none. A process that has not come to its next piece after this time, or has
 * filled this heap, is ended with its export: large turns of text need three quarters of it. An
 * export whose next piece is not read for the last of these times is ended, too.
 */
export const EXPORT_PROCESSES_MAX = 4;
export const EXPORT_PROCESSES_KEPT_MIN = 1;
export const EXPORT_PIECE_MS_MAX = 60_000;
export const EXPORT_HEAP_BYTES_MAX = 512 * 1_024 * 1_024;
export const EXPORT_UNREAD_MS_MAX = 120_000;
/** The same while another reader waits for that process: 32 KiB a second is the least pace. */
export const EXPORT_PACE_MS = 2_000;

/** Readers that wait for one of these processes, of which some are kept likewise, and how long. */
export const EXPORTS_WAITING_MAX = 64;
export const EXPORTS_WAITING_KEPT_MIN = 16;
export const EXPORT_WAIT_MS_MAX = 10_000;

/**
 * What HTML and Markdown show of one text of a tool: all that is shown of a terminal of ours, whose
 * end is often what matters. How deep HTML sets lists. The JSON export has all.
 */
export const EXPORT_TOOL_TEXT_CHARS_MAX = 80 * 1_024;
export const EXPORT_NESTING_MAX = 8;
/** Of Markdown that is read at once: longer text is cut at blank lines. */
export const EXPORT_MARKDOWN_PIECE_CHARS = 16 * 1_024;
/** Of one paragraph: its length times the characters in it that may be marks. */
export const EXPORT_INLINE_WORK_MAX = 4_000_000;
export const EXPORT_TABLE_CELLS_MAX = 20_000;

/** Tools whose calls one session counts apart, later ones as `other`; agents name them. */
export const TOOLS_COUNTED_MAX = 64;
export const TOOL_NAME_CHARS_MAX = 64;

/** How far back a prompt's verdict is looked for, and how much is read for it at most. */
export const TURN_STATUS_TURNS_MAX = 64;
export const TURN_STATUS_READ_CHARS_MAX = 64 * 1_024 * 1_024;

/** A prompt's or a result's text in its state; the wire's figure. */
export const TURN_STATUS_TEXT_CHARS_MAX = 32_768;

/** Turns that a search for the agent's latest commands or modes looks through. */
export const UPDATE_SEARCH_TURNS_MAX = 1_000;

/** How many turns a message into a turn is remembered for, so that a retry is not sent twice. */
export const MID_TURN_REMEMBERED_TURNS_MAX = 8;

/** Words of a slash command that are looked at one by one; its text is kept whole. */
export const SLASH_WORDS_MAX = 256;

/** What a session lists as skipped: it may go without hundreds of extensions of one folder. */
export const SKIPPED_LISTED_MAX = 32;

/** Lines that one answer to a slash command lists, and as many in its data: a screen or three. */
export const SLASH_LISTED_MAX = 256;

/** A name, and a sentence about it, in such a list; the field route has summaries whole. */
export const SLASH_NAME_CHARS_MAX = 128;
export const SLASH_SUMMARY_CHARS_MAX = 256;

/** An answer's text in all, and any one text in its data: it is an event for ever. */
export const SLASH_ANSWER_CHARS_MAX = 64 * 1_024;

/** Messages of a conversation in one answer of the field route, and how many are usual. */
export const FIELDS_MESSAGES_MAX = 500;
export const FIELDS_MESSAGES_DEFAULT_MAX = 100;

/** How far back in the log commands are looked for, and how many are shown. */
export const COMMAND_HISTORY_EVENTS_MAX = 2_000;
export const COMMAND_HISTORY_MAX = 100;

/** How long a session waits for its files to be looked at, when its agent is there already. */
export const SURROUNDINGS_MS_MAX = 2_000;

/** How long an agent that has just come has to say which commands are its own. */
export const AGENT_COMMANDS_MS_MAX = 500;

/** Turns looked at to tell how many a close has waited for, where prompts are not counted. */
export const TURNS_DRAINED_MAX = 64;

/** Limits of the ledger, its accounts and its reports. */

/** Entries after which the sums are written down: opening reads no more than about as many. */
export const LEDGER_ENTRIES_UNSUMMED_MAX = 1_000;

/** Turns of an unmetered tenant after which its sums are brought up to date without a reader. */
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

/** Months of which it is held what was charged; another is read from the journal. */
export const LEDGER_MONTHS_HELD_MAX = 3;

/** Users and sessions of a month that are held; what others were charged is read when needed. */
export const LEDGER_MONTH_USERS_MAX = 2_000;
export const LEDGER_MONTH_SESSIONS_MAX = 1_000;

/** How long a prompt waits at most before it looks again whether the month has turned. */
export const MONTH_WAIT_MS_MAX = 3_600_000;

/** Warnings about budgets that wait for the reader of a tenant's stream; the oldest are dropped. */
export const TENANT_WARNINGS_WAITING_MAX = 100;

/** Budgets of users in one tenant, of one period. */
export const USER_BUDGETS_MAX = 1_000;

/** Tenants whose accounts are held in memory; the one unused for longest is evicted. */
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

/** A grant's own id, and the note on it. */
export const GRANT_NOTE_CHARS_MAX = 1_000;

/** Entries of a statement in one answer, and how many are usual. */
export const STATEMENT_ROWS_MAX = 1_000;
export const STATEMENT_ROWS_DEFAULT_MAX = 100;

/** Entries that are looked at for one page of a statement, which may be of a short time only. */
export const STATEMENT_ROWS_SEARCHED_MAX = 10_000;

/** Lines of a usage report; the rest comes together in one called `other`. */
export const USAGE_GROUPS_MAX = 10_000;

/** Refused transitions of one session that the log has one by one; then it has their growth. */
export const REFUSALS_LOGGED_MAX = 16;

/** The least of an id that names a session: fewer characters are soon ambiguous. */
export const SESSION_PREFIX_CHARS_MIN = 4;

/** Sessions among which one is looked for by its name or the beginning of its id. */
export const SESSIONS_SEARCHED_MAX = 10_000;

/** A prompt that a command reads from its input; a server takes less than that. */
export const PROMPT_INPUT_BYTES_MAX = 8 * 1_024 * 1_024;

/**
 * A search for one who does not see all sessions is answered after a multiple of this: so its time
 * does not tell how much was passed over. In that time tens of thousands of messages are.
 */
export const SEARCH_ANSWER_STEP_MS = 100;

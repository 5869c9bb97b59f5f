/** Every maximum of the network side, with its unit last and the reason beside it. */

/** Open sockets, unless the operator says otherwise; the wire's figure. */
export const CONNECTIONS_MAX = 256;

/** The head of one request: Node's own figure, and room for any token that we know of. */
export const HEAD_BYTES_MAX = 16 * 1_024;

/** From the first byte of a request to the end of its head, and to the end of its body. */
export const HEAD_MS_MAX = 15_000;
export const REQUEST_MS_MAX = 120_000;

/** A little longer than the proxies that we know keep theirs, so that they close first. */
export const IDLE_CONNECTION_MS = 65_000;

/** How often connections are held to these times. */
export const CONNECTION_LOOK_MS = 5_000;

/** How long a TLS handshake may take. */
export const HANDSHAKE_MS_MAX = 10_000;

/** A quiet socket is asked by TCP whether its other end is there still. */
export const SOCKET_PROBE_MS = 30_000;

/** How long open requests and streams have to end when the server closes. */
export const CLOSE_MS_MAX = 5_000;

/** One JSON body, and one raw body; the wire's figures. */
export const JSON_BODY_BYTES_MAX = 10 * 1_024 * 1_024;
export const RAW_BODY_BYTES_MAX = 8 * 1_024 * 1_024;

/** All bodies that are being received or handled: few large ones, or very many usual ones. */
export const BODIES_HELD_BYTES_MAX = 256 * 1_024 * 1_024;

/** How deep a body may be nested: some of it goes on to an agent, inside a message of ours. */
export const BODY_NESTING_MAX = 256;

/**
 * How much of a refused body is read and dropped, and for how long. Most clients read the answer
 * only when they have sent everything; whoever does not stop then is cut off.
 */
export const BODY_DROPPED_BYTES_MAX = 64 * 1_024 * 1_024;
export const BODY_DROPPED_MS_MAX = 10_000;

/** When to come again, if a refusal does not know it better; the wire's figure. */
export const RETRY_AFTER_MS = 5_000;

/** What a stream tells browsers about reconnecting, and how often it shows that it is alive. */
export const STREAM_RETRY_MS = 3_000;
export const STREAM_HEARTBEAT_MS = 15_000;

/** A stream that has ended still has this long to get rid of each write that is left. */
export const STREAM_ENDING_MS_MAX = 5_000;

/** The frames that a client may let wait; the wire's figures. */
export const STREAM_QUEUED_MIN = 16;
export const STREAM_QUEUED_MAX = 2_048;

/** An answer of which nothing is taken for this long is given up. */
export const ANSWER_STALL_MS_MAX = 60_000;

/** How much of a list is repeated to somebody who named another one. */
export const CONFLICT_CHARS_MAX = 1_024;

/** Files that those of one tenant may be getting at a time: each keeps the store busy. */
export const FILES_SENT_MAX = 4;

/** Requests of one caller within the window, if rates are limited; the wire's figures. */
export const RATE_WINDOW_MS = 60_000;
export const RATE_PROMPTS_MAX = 10;
export const RATE_MUTATIONS_MAX = 30;
export const RATE_READS_MAX = 120;

/** Callers whose rates are known; beyond this nobody is limited, as the wire has it. */
export const RATE_KEYS_MAX = 10_000;

/** How often the full list of callers is searched for those that may be forgotten. */
export const RATE_SWEEP_MS = 1_000;

/** The longest wait that a timer takes. */
export const OPTION_MS_MAX = 2_147_483_647;

/** What a person may configure: a token, an address, a path, and how many of the latter two. */
export const TOKEN_CHARS_MAX = 4_096;
export const OPTION_TEXT_CHARS_MAX = 4_096;
export const ORIGINS_MAX = 64;
export const PROXIES_MAX = 64;
export const WORKSPACES_MAX = 64;

/** How much of an unforeseen error is logged. */
export const LOGGED_ERROR_CHARS_MAX = 4_096;

/** A path in a request; the wire's figure. */
export const PATH_CHARS_MAX = 4_096;

/** Sessions that one request may delete; the wire's figure. */
export const BATCH_SESSIONS_MAX = 100;

/** Rows of one page of a list, unless fewer are asked for, and at most; the wire's figures. */
export const LIST_ROWS_DEFAULT_MAX = 20;
export const LIST_ROWS_MAX = 100;

/** What made a session: the wire's figures. */
export const SOURCE_TYPE_CHARS_MAX = 64;
export const SOURCE_ID_CHARS_MAX = 256;

/** Turns that a client may have a replay end with; the wire's figures. */
export const HISTORY_TURNS_MIN = 1;
export const HISTORY_TURNS_MAX = 500;

/** Blocks of one prompt that are not text; the wire's figure. */
export const PROMPT_MEDIA_BLOCKS_MAX = 256;

/** Blocks of one prompt, of whatever kind. */
export const PROMPT_BLOCKS_MAX = 4_096;

/** How long a prompt's verdict stays behind its answer: two sockets know no order (wire, 16.1). */
export const PROMPT_ANSWER_LEAD_MS = 5;

/** A message into a running turn, and a caller's name for it; the wire's figures. */
export const MID_TURN_MESSAGE_CHARS_MAX = 16_384;
export const MID_TURN_MESSAGE_ID_CHARS_MAX = 128;

/** What one vote may answer to the questions of an ask. */
export const VOTE_ANSWERS_MAX = 64;
export const VOTE_ANSWER_CHARS_MAX = 32_768;

/** Turns of one page of a transcript, unless a client asks for fewer or more; the wire's figure. */
export const TRANSCRIPT_TURNS_DEFAULT_MAX = 100;

/** What the turns of one page weigh at most; upstream's figure. */
export const TRANSCRIPT_PAGE_BYTES_MAX = 8 * 1_024 * 1_024;

/** How many turns are passed over, newest first, in search of the one that a client names. */
export const TRANSCRIPT_SEARCH_TURNS_MAX = 10_000;

/** Entries of one page of an audit, unless fewer or more are asked for, and at most. */
export const AUDIT_ROWS_DEFAULT_MAX = 100;
export const AUDIT_ROWS_MAX = 500;

/** Rows that one request looks at in search of entries, before it says where to go on. */
export const AUDIT_ROWS_SEARCHED_MAX = 10_000;

/** Of these at a time. */
export const AUDIT_STRETCH_ROWS_MAX = 250;

/** Kinds of acts that may be asked for at once. */
export const AUDIT_ACTS_MAX = 32;

/** A restore that took too long is tried again after as long as it may take, within these. */
export const RESTORE_RETRY_MS_MIN = 5_000;
export const RESTORE_RETRY_MS_MAX = 120_000;

/**
 * Loads whose answers are made at a time, and what those that were made may come to while their
 * clients have not taken them: a few large ones, or very many usual ones.
 */
export const LOADS_MADE_MAX = 4;
export const LOADS_HELD_CHARS_MAX = 128 * 1_024 * 1_024;

/** Sessions that are looked at to count those of a workspace; beyond it the count says so. */
export const SESSIONS_COUNTED_MAX = 10_000;

/** Pages that are searched for a session to show, where a store cannot tell which those are. */
export const LIST_PAGES_SEARCHED_MAX = 10;

/** Every maximum of the network side, with its unit last and the reason beside it. */

/** Open sockets, unless the operator says otherwise; the wire's figure. */
export const CONNECTIONS_MAX = 256;

/**
 * Connections beyond these: a quarter more, and at least so many. All of them have a request then;
 * the operator, `/health` and those who hold little are served, and all others get an answer.
 */
export const CONNECTIONS_EXTRA_MIN = 32;

/** Connections or streams that a tenant or user may have where all others are taken. */
export const CONNECTIONS_LITTLE_MAX = 4;

/** Connections of callers without a token that send a body: how long it takes is up to them. */
export const CONNECTIONS_OF_STRANGERS_MAX = 16;

/** Files of the web client on their way: some ten browsers that load at once. Each is open. */
export const CONNECTIONS_OF_WEB_FILES_MAX = 64;

/** One piece of such a file, and a page whose inline scripts are read to allow them. */
export const WEB_PIECE_BYTES_MAX = 64 * 1_024;
export const WEB_PAGE_BYTES_MAX = 1_024 * 1_024;

/** Sessions that the page at `/` counts: one page of a list, in one read. */
export const HOME_SESSIONS_COUNTED_MAX = 1_000;

/** Requests that wait while the server starts, and how long: as many as it has connections. */
export const STARTING_REQUESTS_MAX = 256;
export const STARTING_WAIT_MS_MAX = 10_000;

/** How long a connection that made room is still read, and how many of them there are. */
export const SOCKET_LINGER_MS = 1_000;
export const SOCKETS_EVICTED_MAX = 64;

/** The head of one request: Node's own figure, and enough for any token that we know of. */
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

/** How long a request may wait for a turn; proxies that we know give up after a minute or two. */
export const WAIT_MS_MAX = 120_000;

/** How long open requests and streams have to end when the server closes. */
export const CLOSE_MS_MAX = 5_000;

/** One JSON body, and one raw body; the wire's figures. */
export const JSON_BODY_BYTES_MAX = 10 * 1_024 * 1_024;
export const RAW_BODY_BYTES_MAX = 8 * 1_024 * 1_024;

/** All bodies that are being received or handled: few large ones, or very many usual ones. */
export const BODIES_HELD_BYTES_MAX = 256 * 1_024 * 1_024;

/** How much of that only the operator gets. */
export const BODIES_RESERVED_BYTES = 32 * 1_024 * 1_024;

/** A body up to this size is taken in however much is held already. */
export const BODY_SMALL_BYTES_MAX = 64 * 1_024;

/** What the chunk of a body costs at least, and how many chunks a body may come in. */
export const BODY_CHUNK_BYTES_MIN = 512;
export const BODY_CHUNKS_MAX = 65_536;

/** After so many chunks that are smaller than that minimum, others get a turn of the event loop. */
export const BODY_TURN_CHUNKS_MAX = 1_024;

/** What a body that has not ended must bring in each interval, so that it does not hold memory. */
export const BODY_PACE_BYTES_MIN = 16 * 1_024;
export const BODY_PACE_MS = 15_000;

/** Values of one JSON body, keys of objects not counted: each costs far more than its bytes. */
export const BODY_VALUES_MAX = 100_000;

/** How deep a body may be nested: some of it goes on to an agent, inside a message of ours. */
export const BODY_NESTING_MAX = 256;

/** Fields of a body that its route does not know: each is compared with all that it knows. */
export const FIELDS_UNKNOWN_MAX = 64;

/** How much of the name of such a field an answer repeats. */
export const FIELD_NAME_SHOWN_CHARS_MAX = 64;

/** A body that is no JSON is looked through for the place, which costs more than parsing it. */
export const JSON_FAULT_CHARS_MAX = 256 * 1_024;

/** A larger body is parsed in one turn of the event loop and handled in another. */
export const BODY_YIELD_BYTES = 256 * 1_024;

/**
 * How much of a refused body is read and dropped, and for how long. Most clients read the answer
 * only when they have sent everything; a client that does not stop then is cut off.
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

/**
 * A reader that was evicted has this long to read again and find out: its socket stays open with
 * what was written to it, so that no frame is cut. So much of that is kept for all such readers.
 */
export const STREAM_EVICTED_MS_MAX = 60_000;
export const STREAMS_EVICTED_MAX = 64;
export const STREAMS_EVICTED_BYTES_MAX = 32 * 1_024 * 1_024;

/** The frames that a client may let wait; the wire's figures. */
export const STREAM_QUEUED_MIN = 16;
export const STREAM_QUEUED_MAX = 2_048;

/** An answer of which nothing is taken for this long is given up. */
export const ANSWER_STALL_MS_MAX = 60_000;

/** How much of a list an error repeats to a caller who named something else. */
export const CONFLICT_CHARS_MAX = 1_024;

/** Files that those of one tenant may be getting at a time: each keeps the store busy. */
export const FILES_SENT_MAX = 4;

/** Requests of one caller within the window, if rates are limited; the wire's figures. */
export const RATE_WINDOW_MS = 60_000;
export const RATE_PROMPTS_MAX = 10;
export const RATE_MUTATIONS_MAX = 30;
export const RATE_READS_MAX = 120;

/** Callers whose rates are known; beyond this no caller is limited. */
export const RATE_KEYS_MAX = 10_000;

/** How often the full list of callers is searched for those that may be forgotten. */
export const RATE_SWEEP_MS = 1_000;

/** The longest wait that a timer takes. */
export const OPTION_MS_MAX = 2_147_483_647;

/** The name of a machine, as DNS has it. */
export const HOST_CHARS_MAX = 253;

/** What a person may configure: a token, an address, a path, and how many of the latter two. */
export const TOKEN_CHARS_MAX = 4_096;

/** How often a starting server tries to take the data directory of one that may be stopping. */
export const DATA_CLAIM_TRIES_MAX = 20;
export const DATA_CLAIM_RETRY_MS = 50;

/** The shortest token of the operator on a server that other machines can reach. */
export const TOKEN_CHARS_MIN = 16;
export const OPTION_TEXT_CHARS_MAX = 4_096;
export const ORIGINS_MAX = 64;
export const HOSTS_MAX = 64;
export const PROXIES_MAX = 64;
export const WORKSPACES_MAX = 64;

/** How much of an unforeseen error is logged. */
export const LOGGED_ERROR_CHARS_MAX = 4_096;

/** Lines of the log that the program which reads the error output has not taken yet. */
export const LOG_LINES_WAITING_BYTES_MAX = 1_024 * 1_024;

/** How long a server that has stopped waits for that program. */
export const LOG_LAST_MS_MAX = 1_000;

/** A path in a request; the wire's figure. */
export const PATH_CHARS_MAX = 4_096;

/** Sessions that one request may delete; the wire's figure. */
export const BATCH_SESSIONS_MAX = 100;

/** Open asks in one answer, by their bytes: the content of a diff may be large. */
export const ASKS_PAGE_BYTES_MAX = 4 * 1_024 * 1_024;

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

/** Content blocks of one prompt. */
export const PROMPT_BLOCKS_MAX = 4_096;

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

/** Every maximum of tokens, members and attempts, with its unit last and the reason beside it. */

/** Members of one tenant: they are in one document, which is read with every request. */
export const MEMBERS_MAX = 500;

/** Tokens of one tenant; expired ones are evicted first to make space for a new one. */
export const TOKENS_MAX = 1_000;

/**
 * Changes of members, tokens, settings and workspaces of one tenant that wait for each other. Each
 * takes one write to the disk, so that the last of them waits for a second or two.
 */
export const TENANT_CHANGES_WAITING_MAX = 128;

/** Invitations of one tenant; ended ones are forgotten first to make space for a new one. */
export const INVITATIONS_MAX = 200;

/** How long an invitation can be redeemed: by default, and at least and at most by choice. */
export const INVITATION_LIFE_MS = 7 * 24 * 60 * 60 * 1_000;
export const INVITATION_LIFE_MS_MIN = 60_000;
export const INVITATION_LIFE_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/** A code has the name of its tenant, and about 35 characters more. */
export const INVITATION_CODE_CHARS_MAX = 256;

/** How long `fermata join` waits for the server's answer. */
export const JOIN_ANSWER_MS_MAX = 30_000;

/** Codes that are looked at in the store at a time: guesses cannot outrun their count. */
export const CODES_TRIED_AT_ONCE_MAX = 4;

/** What a person calls a token, so that they know it again. */
export const TOKEN_NAME_CHARS_MAX = 128;

/** The longest time that a token may be given; without one it does not expire. */
export const TOKEN_LIFE_MS_MAX = 10 * 365 * 24 * 60 * 60 * 1_000;

/** How long the former secret of a rotated token may live on: time to tell all that use it. */
export const TOKEN_GRACE_MS_MAX = 7 * 24 * 60 * 60 * 1_000;

/** When a token was last used is written down this seldom at most. */
export const TOKEN_USE_NOTED_MS = 60_000;

/** Failed attempts that one address has within the window before it has to wait. */
export const ATTEMPTS_FAILED_MAX = 10;
export const ATTEMPTS_WINDOW_MS = 60_000;

/** Addresses whose failures are known; the one that failed first is evicted first. */
export const ATTEMPT_ADDRESSES_MAX = 10_000;

/** Credentials that are known to be good, and so are not held up by others of their address. */
export const CREDENTIALS_KNOWN_MAX = 4_096;

/** Suspects whose tokens are looked at in the store at a time, and when others may come again. */
export const SUSPECTS_MAX = 64;
export const SUSPECT_RETRY_MS = 1_000;

/** Verified JWTs, and how long at most they are trusted without another check. */
export const JWT_CACHED_MAX = 10_000;
export const JWT_CACHED_MS_MAX = 5 * 60_000;

/** A user's name by another's rules, before it becomes one by ours. */
export const JWT_SUBJECT_CHARS_MAX = 1_024;

/** A set of keys: what it may weigh, how long it may take to come, and to stay. */
export const KEY_SET_BYTES_MAX = 256 * 1_024;
export const KEY_SET_MS_MAX = 5_000;
export const KEY_SET_KEPT_MS_MAX = 10 * 60_000;

/** How soon an unknown key may have the set fetched again. */
export const KEY_SET_RETRY_MS = 30_000;

/** The same of a set in a file, which costs little to read. */
export const KEY_FILE_KEPT_MS_MAX = 5_000;
export const KEY_FILE_RETRY_MS = 1_000;

/** How long a key set that could not be fetched is not asked for again. */
export const KEY_SET_FAILED_MS = 5_000;

/** How far the clocks of a token's issuer and of this machine may be apart. */
export const JWT_SKEW_MS = 5_000;

/** Sessions that a refusal names, because other holders have them or because they wait. */
export const HELD_SESSIONS_NAMED_MAX = 5;

/** How often the server checks that the reader of an open stream may still read it. */
export const STREAM_RECHECK_MS = 20_000;

/**
 * How long a caller counts as authenticated while the request is still coming in. Other processes
 * do not announce which users they remove, so after this the caller is authenticated again.
 */
export const IDENTITY_FRESH_MS = 1_000;

/** Tenants whose voters a server remembers, to notice who is not among them any more. */
export const VOTERS_TENANTS_MAX = 1_000;

/** How long a look at the server's health may take before the store counts as not answering. */
export const HEALTH_LOOK_MS_MAX = 5_000;

/** Requests within this time share one look, so that asking for it is cheap. */
export const HEALTH_LOOK_AGE_MS_MAX = 1_000;

/** How often the server looks by itself, so that its log tells of what no monitor asks for. */
export const HEALTH_LOOK_EVERY_MS = 30_000;

/** How long an agent that was not started again counts as failing after its last failure. */
export const HEALTH_BREAKER_MS_MAX = 10 * 60 * 1_000;

/** Reasons of one kind that a report lists; their number is told beside them. */
export const HEALTH_REASONS_MAX = 100;

/** Missing sessions that one look asks the store for again; the next look goes on behind them. */
export const HEALTH_MISSING_CHECKED_MAX = 100;

/** How long a server that finds its port taken looks for who has it. */
export const PORT_OWNER_MS_MAX = 5_000;

/** A server's log that has grown to this makes way for a new one when a server starts. */
export const SERVER_LOG_BYTES_MAX = 16 * 1_024 * 1_024;

/** What is shown of the log of a server that did not start: its last words. */
export const SERVER_LOG_SHOWN_BYTES_MAX = 4_096;

/** How long `fermata stop` waits for a server: turns may be drained for as long as it was told. */
export const SERVER_STOP_MS_MAX = 600_000;

/** How often it is looked whether a server is gone. */
export const SERVER_GONE_ASKED_MS = 50;

/** How long a command looks for its server where it was told of one, before it gives up. */
export const CONNECT_PATIENCE_MS = 3_000;

/** The longest time limit of a command. */
export const COMMAND_MS_MAX = 30 * 24 * 3_600_000;

/** Sessions that one command is about at most. */
export const SESSIONS_AT_ONCE_MAX = 256;

/**
 * Every maximum of the core, with its unit last and the reason beside it. A queue, buffer, wait
 * or loop that is bounded by a bare number elsewhere is a mistake.
 */

/** Admitted and unsettled prompts, the running one included: seed 004's queue of five. */
export const PROMPTS_PENDING_MAX = 5;

/** Content blocks echoed to other clients as `user_message_chunk`; the wire's figure. */
export const PROMPT_ECHO_BLOCKS_MAX = 256;

/** How much of a prompt's text a queue listing shows; the whole is in `prompt_admitted`. */
export const PROMPT_PREVIEW_CHARS_MAX = 4_096;

/** A retry may come this late and still be recognised, unless 256 newer keys pushed it out. */
export const IDEMPOTENCY_KEYS_MAX = 256;
export const IDEMPOTENCY_AGE_MS_MAX = 24 * 60 * 60 * 1_000;

/** An idempotency key is a header of the caller's choosing; it is kept, so it is kept short. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 256;

/** Tokens of one kind that one turn may claim: far beyond any model, and safe to multiply. */
export const TURN_TOKENS_MAX = 1_000_000_000;

/** Micro-credits per million tokens, or per turn: a million credits, which nobody charges. */
export const PRICE_MICRO_MAX = 1_000_000_000_000;

/** Names and ids that agents choose and sessions keep: longer ones are cut or not tracked. */
export const AGENT_NAME_CHARS_MAX = 256;

/** How much of an agent's error a session keeps; the whole is in its event. */
export const ERROR_MESSAGE_CHARS_MAX = 1_024;

/** Shell commands of clients that run at the same time in one session. */
export const SHELLS_OPEN_MAX = 16;

/** Messages steered into one turn; the wire's mid-turn queue. */
export const STEERED_MESSAGES_MAX = 20;

/** Open asks of one session; the next is answered `cancelled`, so that no agent can flood. */
export const ASKS_OPEN_MAX = 64;

/** Ended asks that are remembered in order to tell a late voter how it ended. */
export const ASKS_RESOLVED_MAX = 512;

/** Options of one ask: more than a person can read is an agent's mistake. */
export const ASK_OPTIONS_MAX = 64;

/** Registered clients of one session. */
export const CLIENTS_MAX = 256;

/** Session grants: beyond this a person means "everything" and should choose a profile. */
export const GRANTS_MAX = 256;

/** An approval key may hold a command line; the specification's figure, in UTF-16 units. */
export const APPROVAL_KEY_CHARS_MAX = 1_024;

/** Places one tool call may name and still be judged by its keys; beyond it, people look. */
export const APPROVAL_KEYS_MAX = 256;

/** Patterns of one allowlist; each ask is matched against all of them. */
export const ALLOWLIST_PATTERNS_MAX = 1_024;

/** Display names: seed 004's MAX_DISPLAY_NAME_LENGTH. */
export const DISPLAY_NAME_CHARS_MAX = 256;

/** Tool calls tracked in one turn. Later ones are still stored, only not timed or closed. */
export const TOOL_CALLS_TRACKED_MAX = 4_096;

/** Nesting of an agent's messages that is remembered; deeper ids push out the oldest. */
export const MESSAGE_ID_STACK_MAX = 64;

/** Shell results waiting to be told to the agent with the next prompt, in all. */
export const SHELL_CONTEXT_CHARS_MAX = 10_000;

/** Models whose tokens are counted apart in one session; later ones are counted as `other`. */
export const MODELS_COUNTED_MAX = 32;

/** The largest amount of micro-credits that any one entry or sum may reach: exact in a double. */
export const MICRO_CREDITS_MAX = Number.MAX_SAFE_INTEGER;

/** The finished part of a replay, serialised: older turns are left out whole. */
export const REPLAY_COMPACTED_BYTES_MAX = 4 * 1_024 * 1_024;

/** The unfinished turn's part of a replay, by entries and serialised bytes. */
export const REPLAY_JOURNAL_ENTRIES_MAX = 10_000;
export const REPLAY_JOURNAL_BYTES_MAX = 8 * 1_024 * 1_024;

/** Chunks joined into one entry of the live journal, so that an entry stays quick to show. */
export const REPLAY_JOURNAL_CHUNKS_JOINED_MAX = 256;

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

/** Rows of one page of anything; a reader comes back for more. */
export const PAGE_ROWS_MAX = 1_000;

/** Bytes of one page; a page that passes this by its first row has that row only. */
export const PAGE_BYTES_MAX = 8 * 1_024 * 1_024;

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

/** Session rows that the writing thread knows by heart, for each tenant. */
export const SESSION_ROWS_CACHED_MAX = 4_096;

/** Calls that may wait for the store's thread; beyond this the store says that it is busy. */
export const STORE_CALLS_WAITING_MAX = 100_000;

/** And what they may weigh together; it is also what one transaction can come to. */
export const STORE_BYTES_WAITING_MAX = 256 * 1_024 * 1_024;

/** Events of one session that were appended together share a row, up to this size. */
export const EVENT_RUN_CHARS_MAX = 64 * 1_024;

/** Shorter values than this are words and not keys; hiding them would make texts unreadable. */
export const SECRET_CHARS_MIN = 8;

/** A chain of certificates with its key fits; what is larger is a file and no secret. */
export const SECRET_CHARS_MAX = 64 * 1_024;

/** Secrets known at a time: a text is compared with all of them. */
export const SECRETS_KNOWN_MAX = 1_024;

/** Places that a refusal for a secret names: whoever mends these looks again anyway. */
export const LEAK_PATHS_MAX = 16;
export const LEAK_PATH_CHARS_MAX = 256;

/** One line of an agent; the official SDK's own limit for a message. */
export const AGENT_LINE_BYTES_MAX = 32 * 1_024 * 1_024;

/** How deep values in one message may be nested; nothing real comes near it. */
export const RPC_NESTING_MAX = 1_000;

/** The end of what an agent wrote to its error output, kept for when it fails. */
export const AGENT_STDERR_BYTES_MAX = 64 * 1_024;

/** How much of an agent's last words a person is shown. */
export const AGENT_SAID_CHARS_MAX = 2_048;

/** From the spawn to the answer to `initialize`; a profile may allow more. */
export const AGENT_START_MS_MAX = 10_000;

/** Control calls; a restore replays a history and gets more. A prompt takes as long as it takes. */
export const AGENT_CALL_MS_MAX = 10_000;
export const AGENT_RESTORE_MS_MAX = 60_000;

/** How long an agent has to end by itself after its input ended, and after it was asked to. */
export const AGENT_END_MS_MAX = 1_500;
export const AGENT_TERMINATE_MS_MAX = 1_500;

/** Calls to one agent that have no answer yet, and its own calls that have none from us. */
export const AGENT_CALLS_OPEN_MAX = 1_024;
export const AGENT_REQUESTS_OPEN_MAX = 256;

/** Bytes that wait for an agent to read them. */
export const AGENT_OUTBOX_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * What an agent said of one session and its listener has not been told yet. Beyond it nothing more
 * is read from the process, so it is large enough that a slow store stops no neighbour at once.
 */
export const AGENT_QUEUE_CHARS_MAX = 4 * 1_024 * 1_024;

/** Sessions that are still being made and of which the agent speaks before it gave their ids. */
export const AGENT_SESSIONS_HELD_MAX = 64;

/** Tool calls whose fields are remembered for an ask that names its call and says no more. */
export const AGENT_TOOL_CALLS_KNOWN_MAX = 256;
export const AGENT_TOOL_CALLS_KNOWN_CHARS_MAX = 4 * 1_024 * 1_024;

/** How much of a bad line is shown to whoever looks for the reason. */
export const AGENT_FAULT_SAMPLE_CHARS_MAX = 256;

/** How much of an earlier conversation a fresh agent is told: most models have room for it. */
export const AGENT_SEED_CHARS_MAX = 60_000;
export const AGENT_SEED_MESSAGES_MAX = 200;

/** Agent profiles of one configuration, and the arguments and variables of each. */
export const AGENT_PROFILES_MAX = 256;
export const AGENT_ARGS_MAX = 256;
export const AGENT_VARIABLES_MAX = 256;

/** One text of a profile: a path, an argument, a value. */
export const AGENT_PROFILE_TEXT_CHARS_MAX = 4_096;

/** The longest wait that a profile may ask for, and the most sessions in one process. */
export const AGENT_PROFILE_MS_MAX = 24 * 60 * 60 * 1_000;
export const AGENT_SESSIONS_PER_PROCESS_MAX = 1_024;

/** A command line given in place of a profile. */
export const AGENT_COMMAND_LINE_CHARS_MAX = 16_384;

/** A mark is a few hundred bytes; what is larger is none. */
export const AGENT_MARK_BYTES_MAX = 4_096;

/** How long killed processes have to disappear, and how long we wait between two looks. */
export const AGENT_SWEEP_MS_MAX = 5_000;
export const AGENT_SWEEP_PAUSE_MS = 20;

/** Processes looked at in one go: others have their turn in between. */
export const AGENT_SWEEP_BATCH_MAX = 64;

/** How long a process may need to become the agent, when its server died while starting it. */
export const AGENT_SPAWN_MS_MAX = 1_000;

/** How long the last words of an agent that has exited may take to come through its pipe. */
export const AGENT_LAST_WORDS_MS_MAX = 250;

/** Failed starts of one agent in a row before nobody waits for the next one any more. */
export const AGENT_FAILURES_MAX = 4;
export const AGENT_BACKOFF_MS_MIN = 250;
export const AGENT_BACKOFF_MS_MAX = 60_000;

/** Agents and places whose failures are remembered; the oldest are forgiven first. */
export const AGENT_BREAKERS_MAX = 1_024;

/** An agent that dies sooner than this after its start has failed to start, so to speak. */
export const AGENT_STEADY_MS_MIN = 5_000;

/** Agent processes of one server, however small; 0.1 to 0.5 GiB each is what they take. */
export const AGENT_PROCESSES_MAX = 64;

/** How often the memory of agents is looked at. */
export const AGENT_MEMORY_LOOK_MS = 5_000;

/** A file that an agent reads through us; the wire's figure. */
export const FILE_READ_BYTES_MAX = 100 * 1_024 * 1_024;

/** What of it is answered at once, as JSON: one line of ACP, less a mebibyte for the envelope. */
export const FILE_ANSWER_BYTES_MAX = AGENT_LINE_BYTES_MAX - 1_024 * 1_024;

/** A file that an agent writes through us: more cannot arrive in one line of its. */
export const FILE_WRITE_BYTES_MAX = 32 * 1_024 * 1_024;

/** Files are read in pieces of this size, so that the first lines of a long one cost little. */
export const FILE_CHUNK_BYTES = 256 * 1_024;

/** Linux's PATH_MAX, less its final NUL; the systems we know take no longer path. */
export const FILE_PATH_BYTES_MAX = 4_095;

/** Links that one path may lead through; Linux's own figure. */
export const FILE_LINKS_MAX = 40;

/** Terminals of one session that were not released, the ended ones included. */
export const TERMINALS_OPEN_MAX = 32;

/** The end of a terminal's output that is kept; an agent may ask for less. */
export const TERMINAL_OUTPUT_BYTES_MAX = 1_024 * 1_024;

/** A command, its arguments and its variables together: Linux's figure for one argument. */
export const TERMINAL_COMMAND_BYTES_MAX = 128 * 1_024;

/** How long a command has after SIGTERM, and how long we wait for the system after SIGKILL. */
export const TERMINAL_TERMINATE_MS_MAX = 1_500;
export const TERMINAL_KILL_MS_MAX = 1_500;

/** How often a process group is asked whether it is gone: the system does not tell by itself. */
export const TERMINAL_POLL_MS = 10;

/** How long the output of an ended command is waited for, if a child of it keeps it open. */
export const TERMINAL_DRAIN_MS_MAX = 250;

/** Events of one session that go into one commit, and all that wait for the store. */
export const ACTOR_BATCH_BYTES_MAX = 1_024 * 1_024;
export const ACTOR_BYTES_WAITING_MAX = 8 * 1_024 * 1_024;

/** What one turn may say, events and all; beyond it the turn is told to stop. */
export const TURN_BYTES_MAX = 32 * 1_024 * 1_024;

/** Events outside of turns that may come together before they get a snapshot of their own. */
export const HISTORY_OPEN_EVENTS_MAX = 512;

/** Raw events that are kept for exact reconnects: the wire's ring has as many. */
export const EVENTS_KEPT_MAX = 8_000;

/** How long to wait before a session is opened again whose store has failed. */
export const STORE_REOPEN_MS_MIN = 50;
export const STORE_REOPEN_MS_MAX = 5_000;

/** Live sessions of one tenant and workspace: seed 004's cap. Stored ones are not counted. */
export const SESSIONS_LIVE_MAX = 20;

/** Stale sessions that are recovered at a time. */
export const RECOVERIES_AT_ONCE_MAX = 5;

/** Refusals of one live session that are audited one by one; of more, only every doubling. */
export const REFUSALS_AUDITED_MAX = 256;

/** A verdict is kept back for the answer to its prompt for at most this long. */
export const VERDICT_HELD_MS_MAX = 250;

/** A session that nobody watches or uses for this long is let go; the wire's figure. */
export const SESSION_IDLE_MS = 30 * 60 * 1_000;
export const SESSION_REAP_MS = 60 * 1_000;

/** How long running turns have to finish when the server stops. */
export const SHUTDOWN_DRAIN_MS = 10_000;

/** Open streams of one session; the wire's figure. */
export const SUBSCRIBERS_MAX = 64;

/** What may wait for one subscriber, unless the client asks for more or fewer frames. */
export const SUBSCRIBER_QUEUE_FRAMES_MAX = 256;
export const SUBSCRIBER_QUEUE_BYTES_MAX = 2 * 1_024 * 1_024;

/** A reader for whom too much waits, and who takes nothing for this long, has stopped reading. */
export const SUBSCRIBER_STALL_MS = 5_000;

/** Events that one subscriber reads from the store at a time; a write to a socket has room. */
export const SUBSCRIBER_PAGE_FRAMES_MAX = 512;

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

/** How much of one command's output is told to a session's streams, and in what pieces. */
export const SHELL_OUTPUT_CHARS_MAX = 1_024 * 1_024;
export const SHELL_OUTPUT_CHUNK_CHARS_MAX = 64 * 1_024;

/** The pause between two such pieces: nobody reads faster, and each is an event for ever. */
export const SHELL_OUTPUT_PAUSE_MS = 50;

/** From the wish for a recap or an answer to the answer, its agent's start included. */
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

/** Messages read at a time when a conversation is told backwards; fewer if they are large. */
export const PAST_PAGE_ROWS_MAX = 64;

/** Tool calls in a row that a fresh agent is told of by name, and how much of their titles. */
export const PAST_TOOL_LINES_MAX = 20;
export const PAST_TOOL_TITLE_CHARS_MAX = 200;

/** An export leaves in pieces of about this many characters: fewer, and each costs too much. */
export const EXPORT_CHUNK_CHARS = 64 * 1_024;

/** What an HTML export shows of one input or output of a tool; the JSON export has it all. */
export const EXPORT_TOOL_TEXT_CHARS_MAX = 32 * 1_024;

/** Lists and quotations inside each other that an HTML export sets; deeper ones stay text. */
export const EXPORT_NESTING_MAX = 8;

/** Tools whose calls one session counts apart, later ones as `other`; agents name them. */
export const TOOLS_COUNTED_MAX = 64;
export const TOOL_NAME_CHARS_MAX = 64;

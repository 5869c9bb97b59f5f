/** One line of an agent; the official SDK's own limit for a message. */
export const AGENT_LINE_BYTES_MAX = 32 * 1_024 * 1_024;

/** How deep values in one message may be nested; nothing real comes near it. */
export const RPC_NESTING_MAX = 1_000;

/** The end of what an agent wrote to its error output, kept for when it fails. */
export const AGENT_STDERR_BYTES_MAX = 64 * 1_024;

/** Agents that have ended and whose error output the operator can still read. */
export const AGENT_LOGS_KEPT_MAX = 16;

/** Those who read the lines to and from a tenant's agents, and what may wait for each of them. */
export const AGENT_TRACES_MAX = 4;
export const AGENT_TRACE_WAITING_CHARS_MAX = 4 * 1_024 * 1_024;

/** Of a longer line a trace has the beginning. */
export const AGENT_TRACE_LINE_CHARS_MAX = 256 * 1_024;

/** How much of an agent's last output a person is shown. */
export const AGENT_SAID_CHARS_MAX = 2_048;

/**
 * From the spawn to the answer to `initialize`, if the agent does nothing that can be seen; a
 * profile may say otherwise. Known agents have taken 23 s on a busy machine.
 */
export const AGENT_START_MS_MAX = 60_000;

/** An agent that is at work meanwhile has so many times as long: three minutes, as a rule. */
export const AGENT_START_TIMES_MAX = 3;

/** How long is looked whether it is, and how much of a processor it has to use in that time. */
export const AGENT_WORK_LOOK_MS = 500;
export const AGENT_WORK_PERCENT_MIN = 5;

/** Control calls; a restore replays a history and gets more. A prompt takes as long as it takes. */
export const AGENT_CALL_MS_MAX = 10_000;
export const AGENT_RESTORE_MS_MAX = 60_000;

/**
 * How long an agent that has loaded a session must have been silent before it gets a prompt: some
 * send the past behind their answer. One that has said nothing of it yet may still be about to, so
 * that takes longer. One that never falls silent holds a prompt up for so long.
 */
export const AGENT_REPLAY_QUIET_MS = 50;
export const AGENT_REPLAY_BEGIN_MS_MAX = 500;
export const AGENT_REPLAY_WAIT_MS_MAX = 5_000;

/** How long an agent has to end by itself after its input ended, and after it was asked to. */
export const AGENT_END_MS_MAX = 1_500;
export const AGENT_TERMINATE_MS_MAX = 1_500;

/** Calls to one agent that have no answer yet, and its own calls that have none from us. */
export const AGENT_CALLS_OPEN_MAX = 1_024;
export const AGENT_REQUESTS_OPEN_MAX = 256;

/** An address that an agent wants opened, and the words that go with it. */
export const ELICITATION_URL_CHARS_MAX = 4_096;
export const ELICITATION_TEXT_CHARS_MAX = 2_048;

/** An agent's own sessions that are listed at once, and the pages in which it gives them. */
export const AGENT_LISTED_SESSIONS_MAX = 1_000;
export const AGENT_LISTED_PAGES_MAX = 64;

/** The longest id of an agent's own session that can be adopted. */
export const AGENT_SESSION_ID_CHARS_MAX = 1_024;

/** Sessions that are looked at to find which of an agent's own are taken; more are refused. */
export const ADOPTION_SESSIONS_SOUGHT_MAX = 10_000;

/** Copies of deleted sessions that wait for their agent to delete them; of a tenant at its end. */
export const AGENT_COPIES_DELETING_MAX = 256;

/** Those of one tenant, so that it leaves room for the others. */
export const AGENT_COPIES_DELETING_TENANT_MAX = 64;

/** How long a call may take in which a person has to open a page, as to sign in. */
export const AGENT_SIGN_IN_MS_MAX = 15 * 60_000;

/** Commas in one choice of a form that are looked for in an answer with several. */
export const FORM_CHOICE_COMMAS_MAX = 8;

/** What its open calls took to say, all together: two lines of the largest kind. */
export const AGENT_REQUESTS_OPEN_CHARS_MAX = 2 * AGENT_LINE_BYTES_MAX;

/** Files that one process has us read or write at the same time; each is held in memory whole. */
export const AGENT_FILE_CALLS_MAX = 2;

/**
 * How long a process may go on with a turn that was cancelled, while other sessions use it: long
 * enough for them to finish what they are at.
 */
export const AGENT_STRAY_TURN_MS_MAX = 5 * 60 * 1_000;

/** Bytes that wait for an agent to read them. */
export const AGENT_OUTBOX_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * What an agent said of one session and its listener has not taken yet. Beyond it nothing more
 * is read from the process, so it is large enough that a slow store stops no neighbour at once.
 */
export const AGENT_QUEUE_CHARS_MAX = 4 * 1_024 * 1_024;

/** Sessions that are still being made and of which the agent speaks before it gave their ids. */
export const AGENT_SESSIONS_HELD_MAX = 64;

/** Tool calls whose fields are remembered for an ask that names its call and says no more. */
export const AGENT_TOOL_CALLS_KNOWN_MAX = 256;
export const AGENT_TOOL_CALLS_KNOWN_CHARS_MAX = 4 * 1_024 * 1_024;

/** How much of a bad line an error shows. */
export const AGENT_FAULT_SAMPLE_CHARS_MAX = 256;

/** How much of an earlier conversation a fresh agent gets: most models can hold it. */
export const AGENT_SEED_CHARS_MAX = 60_000;
export const AGENT_SEED_MESSAGES_MAX = 200;

/** Agent profiles of one configuration, and the arguments and variables of each. */
export const AGENT_PROFILES_MAX = 256;
export const AGENT_ARGS_MAX = 256;
export const AGENT_VARIABLES_MAX = 256;

/** Methods to sign in that a profile may name, and that are read of those of an agent. */
export const AGENT_SIGN_INS_MAX = 16;

/** Options of agents' own that a session remembers; more than any agent offers. */
export const AGENT_OPTIONS_SET_MAX = 64;

/** What a person is told to do about a sign-in, with all methods that the agent offers. */
export const SIGN_IN_ADVICE_CHARS_MAX = 2_048;

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

/** How long the last output of an agent that has exited may take to come through its pipe. */
export const AGENT_LAST_WORDS_MS_MAX = 250;

/** Failed starts of one agent in a row before sessions stop waiting for the next one. */
export const AGENT_FAILURES_MAX = 4;
export const AGENT_BACKOFF_MS_MIN = 250;
export const AGENT_BACKOFF_MS_MAX = 60_000;

/** Agents and places whose failures are remembered; the oldest are forgiven first. */
export const AGENT_BREAKERS_MAX = 1_024;

/** An agent that dies sooner than this after its start has failed to start, so to speak. */
export const AGENT_STEADY_MS_MIN = 5_000;

/** Agent processes of one server, however small; 0.1 to 0.5 GiB each is what they take. */
export const AGENT_PROCESSES_MAX = 64;

/** Of these, what is kept for the operator, once there are users. */
export const AGENT_PROCESSES_RESERVED_MAX = 2;

/** The most that may be chosen. */
export const AGENT_PROCESSES_CHOSEN_MAX = 10_000;

/** What a process is taken to need while none has been weighed; most need less. */
export const AGENT_PROCESS_ASSUMED_BYTES = 256 * 1_024 * 1_024;

/** The highest temperature that a model can be set to; no provider takes more. */
export const TEMPERATURE_MAX = 2;

/** Percent of the machine's memory for all of them, unless the operator says otherwise. */
export const AGENT_MEMORY_PERCENT_MAX = 50;

/** The most that may be chosen, in mebibytes: a tebibyte. */
export const AGENT_MEMORY_MB_MAX = 1_024 * 1_024;

/** How often the memory of agents is looked at. */
export const AGENT_MEMORY_LOOK_MS = 5_000;

/** The pause between two looks at one agent that gets one session after the other. */
export const AGENT_MEMORY_PAUSE_MS = 1_000;

/**
 * A process of fewer sessions gets no spare, because it is a large one; of more, when no more than
 * one seat in so many is left.
 */
export const AGENT_SPARE_SEATS_MIN = 4;

/** How many sessions of a process tell how fast they come. */
export const AGENT_PACE_SEATS_MIN = 3;

/** However fast they come, no more processes than so many are ready or starting ahead of them. */
export const AGENT_SPARES_AHEAD_MAX = 2;

/** A file that an agent reads through us; the wire's figure. */
export const FILE_READ_BYTES_MAX = 100 * 1_024 * 1_024;

/**
 * What of it is answered at once, as JSON. It is more than any model takes in, and an answer is in
 * memory several times on its way; of a larger file an agent asks for some lines.
 */
export const FILE_ANSWER_BYTES_MAX = 8 * 1_024 * 1_024;

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

/**
 * Sessions that were closed here and that their process keeps, because its agent cannot close any.
 * Each may hold a history and MCP servers; beyond this it gets no further session.
 */
export const AGENT_SESSIONS_FORGOTTEN_MAX = 32;

/** What people are shown of a terminal's output: its beginning as it comes, its end at the end. */
export const TERMINAL_SHOWN_HEAD_BYTES_MAX = 32 * 1_024;
export const TERMINAL_SHOWN_TAIL_BYTES_MAX = 32 * 1_024;

/**
 * What they are shown of all terminals of one turn: a quarter of what a turn may say. As it is used
 * up, those that follow get less each, and never less than the smallest share.
 */
export const TERMINALS_SHOWN_TURN_BYTES_MAX = 8 * 1_024 * 1_024;
export const TERMINAL_SHOWN_SHARE_BYTES_MIN = 4 * 1_024;

/** The part of what is left that one terminal may use. */
export const TERMINAL_SHOWN_SHARES_MAX = 16;

/**
 * How long output is gathered before it is sent, and the longest that this may become: it doubles
 * with each round of news, as a command that writes a little now and then does so for hours. Beyond
 * the last round the rest is sent at the end.
 */
export const TERMINAL_NEWS_MS_MIN = 100;
export const TERMINAL_NEWS_MS_MAX = 10_000;
export const TERMINAL_NEWS_ROUND_MAX = 50;
export const TERMINAL_NEWS_MAX = 1_000;

/** How long a tool call may take to name a terminal that has written something. */
export const TERMINAL_CLAIM_MS_MAX = 2_000;

/** Enough of a command to be recognised. */
export const COMMAND_SHOWN_CHARS_MAX = 256;

/** How much of its command line a terminal is shown with, if no call of the agent names it. */
export const TERMINAL_LINE_CHARS_MAX = 4_096;

/** Ended terminals of a turn, and how often the output of each is put where they are named. */
export const TERMINALS_ENDED_KEPT_MAX = 16;
export const TERMINAL_REPEATS_MAX = 4;

/** What else a call with a terminal may contain for us to say it again, with the output in it. */
export const TERMINAL_CALL_CONTENT_CHARS_MAX = 64 * 1_024;

/** Terminals of a turn whose output the agent tells itself, and of which we show the whole. */
export const TERMINALS_TOLD_BY_AGENT_MAX = 32;

/** Plans of a turn that are repeated as text at its end, and how much of each. */
export const PLANS_REPEATED_MAX = 8;
export const PLAN_REPEATED_CHARS_MAX = 64 * 1_024;

/** Compactions that are open at once, and shown as tool calls too. */
export const COMPACTIONS_REPEATED_MAX = 8;

/** Names of sessions that a process has given, kept to know whose they were. */
export const AGENT_NAMES_KEPT_MAX = 10_000;

/** A user of the system by name; what Linux allows. */
export const AGENT_USER_CHARS_MAX = 32;

/** How long the system may take to find a user, or to run the program that tries one. */
export const ACCOUNT_LOOKUP_MS_MAX = 10_000;

/** A line to or from the process that uses files as the agents' user: twice what an agent sends. */
export const USER_FILES_LINE_BYTES_MAX = 2 * AGENT_LINE_BYTES_MAX;

/** Requests at it at a time, and how long it may take for a step of one. */
export const USER_FILES_CALLS_MAX = 16;
export const USER_FILES_STEP_MS_MAX = 60_000;

/** How often a request is tried while the process is ended before it does anything. */
export const USER_FILES_ATTEMPTS_MAX = 2;

/** How long it may take to read the marks of that user's processes. */
export const USER_MARKS_MS_MAX = 4_000;

/** Files of the server's own folders that are tried as the agents' user at the start. */
export const USER_CHECKED_ENTRIES_MAX = 1_024;

/** What an agent offers, as it is kept for clients that come without it; a larger one is not. */
export const AGENT_OFFER_BYTES_MAX = 256 * 1_024;

/** Different offers of one process that its sessions share: as many as they are often set to. */
export const AGENT_OFFERS_SHARED_MAX = 16;

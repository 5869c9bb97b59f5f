/**
 * Every maximum, with its unit last and the reason beside it. A queue, buffer, wait
 * or loop that is bounded by a bare number elsewhere is a mistake.
 */

/** Admitted and unsettled prompts, the running one included. */
export const PROMPTS_PENDING_MAX = 5;

/** What they may weigh together: a session's own slot has to hold them all. */
export const PROMPTS_PENDING_BYTES_MAX = 12 * 1_024 * 1_024;

/** How many times what it leaves free a tenant may hold of a limit, and a user of a tenant's. */
export const SHARE_TIMES_MAX = 3;

/** The part of a limit that is kept for tenants that hold nothing of it yet: one in so many. */
export const SHARE_KEPT_DIVISOR_MIN = 4;

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

/** What an agent may say that one turn cost: a thousand credits, far beyond any turn. */
export const TURN_COST_MICRO_MAX = 1_000_000_000;

/** How long a cost in mid-turn waits for tokens, which would decide in its place. */
export const COST_HELD_MS_MAX = 1_000;

/** Of what an agent said that is doubted, people are shown the beginning. */
export const SUSPECT_DETAIL_CHARS_MAX = 512;

/** An agent's own cost above so many times that of its tokens is a contradiction. */
export const COST_DISAGREES_TIMES_MAX = 10;

/** Tool calls of an agent without figures for which one reserve is enough. */
export const TOOL_CALLS_PER_RESERVE_MAX = 10;

/** Micro-credits per million tokens, or per turn: a million credits, more than any price. */
export const PRICE_MICRO_MAX = 1_000_000_000_000;

/** Names and ids that agents choose and sessions keep: longer ones are cut or not tracked. */
export const AGENT_NAME_CHARS_MAX = 256;

/** How much of an agent's error a session keeps; the whole is in its event. */
export const ERROR_MESSAGE_CHARS_MAX = 1_024;

/** What an agent may add to its error for programs; a larger one is left out. */
export const ERROR_DATA_CHARS_MAX = 4_096;

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

/** All keys of one ask: beyond it a call is one that does not say what it does. */
export const APPROVAL_KEYS_CHARS_MAX = 131_072;

/** Answers of one turn that accesses are held against; the oldest is forgotten first. */
export const TURN_PERMITS_MAX = 256;

/** Patterns of one allowlist; each ask is matched against all of them. */
export const ALLOWLIST_PATTERNS_MAX = 1_024;

/** Closed sessions of a tenant among which a start looks for empty ones, the newest first. */
export const EMPTY_SESSIONS_SOUGHT_MAX = 100;

/** Events in the log of a session whose agent never came, up to which it is deleted. */
export const UNANSWERED_EVENTS_MAX = 256;

/** A display name of a session. */
export const DISPLAY_NAME_CHARS_MAX = 256;

/** What a session is called after its first prompt, until it is given a name. */
export const TITLE_CHARS_MAX = 80;

/** The name of a session. One that the server makes of words is short enough for a column. */
export const SESSION_NAME_CHARS_MAX = 64;
export const SESSION_NAME_AUTOMATIC_CHARS_MAX = 40;
export const SESSION_NAME_WORDS_MAX = 5;

/** Sessions of one name that a caller may see: as many are read, and named in a refusal. */
export const SESSION_NAMESAKES_READ_MAX = 10;

/** How often a free name is sought for a session, while others take what was found. */
export const SESSION_NAME_TRIES_MAX = 8;

/** The number that makes a name unlike others; from here on it may have another's. */
export const SESSION_NAME_NUMBER_MAX = 1_000_000;

/** Tool calls tracked in one turn. Later ones are still stored, only not timed or closed. */
export const TOOL_CALLS_TRACKED_MAX = 4_096;

/** Nesting of an agent's messages that is remembered; deeper ids push out the oldest. */
export const MESSAGE_ID_STACK_MAX = 64;

/** Shell results that the agent gets with the next prompt, all together. */
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

/** How deep children may be: one of a session has none of its own. */
export const CHILD_DEPTH_MAX = 1;

/** Children of one session that are at work at the same time. */
export const CHILDREN_OPEN_MAX = 4;

/** Children of one turn, ended ones included: each leaves its result in the state of the turn. */
export const CHILDREN_PER_TURN_MAX = 32;

/** How long one child may take, with the time that people take to answer it. */
export const CHILD_MS_MAX = 30 * 60 * 1_000;

/** What one child may use in tokens of all kinds, as its agent tells them. */
export const CHILD_TOKENS_MAX = 10_000_000;

/** The task of a child, and what it is called by for people. */
export const CHILD_TASK_CHARS_MAX = 65_536;
export const CHILD_TITLE_CHARS_MAX = 80;

/** The text that a child gives back: what is longer is cut, and says so. */
export const CHILD_RESULT_BYTES_MAX = 65_536;

/** No policy may cut it to less: then what says so would be most of it. */
export const CHILD_RESULT_BYTES_MIN = 1_024;

/** Skills whose texts one task takes along. */
export const CHILD_SKILLS_MAX = 8;

/** Children of earlier turns that a session still names. */
export const CHILDREN_REMEMBERED_MAX = 64;

/** Executions of stages since a workflow was started or resumed: what bounds an endless `Next`. */
export const WORKFLOW_EXECUTIONS_MAX = 200;

/** How often in a row the server may end under the same stage before a person has to look. */
export const WORKFLOW_INTERRUPTIONS_MAX = 5;

/** Executions that a session still names after they have ended. */
export const WORKFLOW_PAST_MAX = 64;

/** How long one phase of a stage may take; one that runs a command has that command's time. */
export const WORKFLOW_PHASE_MS_MAX = 30_000;

/** How long a command of a stage may run. */
export const WORKFLOW_COMMAND_MS_MAX = 10 * 60 * 1_000;

/** The end of a command's output, which is all of it that a stage sees. */
export const WORKFLOW_COMMAND_OUTPUT_CHARS_MAX = 16_384;

/** What a stage tells its agent, with every place filled. */
export const STAGE_TEXT_CHARS_MAX = 256 * 1_024;

/** A command of a stage with every place filled, which a shell takes as one word of its own. */
export const WORKFLOW_COMMAND_CHARS_MAX = 32 * 1_024;

/** A reason for people, with every place filled. */
export const STAGE_REASON_CHARS_MAX = 4_096;

/** The last words of an agent in a stage, for its judgement. */
export const STAGE_LAST_WORDS_CHARS_MAX = 64 * 1_024;

/** The text of a workflow as it is kept with its sessions. */
export const WORKFLOW_TEXT_BYTES_MAX = 4 * 1_024 * 1_024;

/** What a workflow keeps between its stages: the context, and the results of stages. */
export const WORKFLOW_SLOT_BYTES_MAX = 256 * 1_024;

/** The words that a workflow is started with. */
export const WORKFLOW_INPUT_CHARS_MAX = 65_536;

/** Names of ours are shorter; a longer word is compared with none of them. */
export const SPELLING_CHARS_MAX = 64;

/** Beyond so many wrong letters, which name was meant is a guess. */
export const SPELLING_EDITS_MAX = 2;

/** How long a shell waits for the names of sessions, and how many it is given. */
export const COMPLETION_MS_MAX = 150;
export const COMPLETIONS_MAX = 200;

/** How often a command looks for the server that another command has just started. */
export const SERVER_FOUND_RETRY_MS = 100;

/** How long it waits for that server's process to be seen, and while it is there, to listen. */
export const SERVER_SEEN_MS_MAX = 10_000;
export const SERVER_START_MS_MAX = 300_000;

export * from "./limits/agent.ts";
export * from "./limits/loader.ts";
export * from "./limits/server.ts";
export * from "./limits/session.ts";
export * from "./limits/store.ts";
export * from "./limits/tool.ts";

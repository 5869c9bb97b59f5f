/** The limits of echo, with the unit last. Some are large on purpose, for tests. */

export const SCRIPT_DIRECTIVES_MAX = 10_000;

/** Prompts that may be steered into one running turn, or wait for it to end. */
export const STEERED_PROMPTS_MAX = 20;

/** Of `chunks`, `garbage` and other repetitions. */
export const REPEAT_MAX = 10_000_000;

/** One chunk or one long line is built in memory, so it must fit there several times. */
export const CHUNK_BYTES_MAX = 16 * 1_024 * 1_024;
export const LONG_LINE_BYTES_MAX = 128 * 1_024 * 1_024;

/** A flood is written in small pieces, and may be larger than any memory. */
export const FLOOD_BYTES_MAX = 16 * 1_024 * 1_024 * 1_024;
export const FLOOD_PIECE_BYTES = 64 * 1_024;

/** The longest life of a child process, sleep or slow start. */
export const WAIT_MS_MAX = 10 * 60 * 1_000;

/** Output is gathered until the loop turns, or until there is this much. */
export const BATCH_CHARS_MAX = 64 * 1_024;

/** After so many chunks echo reads its input, so that a flood of chunks can be cancelled. */
export const CHUNKS_PER_BREATH = 256;

/** How long an exit waits for a reader that does not read. */
export const EXIT_FLUSH_MS_MAX = 1_000;

/** How long a cancelled turn waits for the client to cancel its open asks. */
export const ASK_AFTER_CANCEL_MS_MAX = 2_000;

/** Requests to the client without an answer. */
export const CALLS_OPEN_MAX = 1_024;

/** Calls of one directive to an MCP server, one of its lines, and the end of what it complains. */
export const MCP_CALLS_MAX = 1_000;
export const MCP_LINE_BYTES_MAX = 8 * 1_024 * 1_024;
export const MCP_SAID_CHARS_MAX = 1_024;

export const SESSIONS_LIVE_MAX = 1_024;
export const SESSIONS_KEPT_MAX = 10_000;
export const SESSIONS_PER_PAGE_MAX = 20;

/** What one session remembers: its newest turns, and the beginning of each text. */
export const TURNS_KEPT_MAX = 1_000;
export const TEXT_KEPT_CHARS_MAX = 64 * 1_024;

/** Larger files of the state folder are ignored. */
export const STATE_FILE_BYTES_MAX = 256 * 1_024 * 1_024;

/** How much of each earlier block of a prompt `recall` repeats. */
export const RECALL_CHARS_MAX = 4_096;

/** A prompt without a script comes back in this many chunks at most. */
export const ECHO_CHUNKS_MAX = 4;

/** Messages read at a time when a conversation is told backwards; fewer if they are large. */
export const PAST_PAGE_ROWS = 64;

/** Tool calls in a row that a fresh agent is told of by name; of earlier ones, how many. */
export const PAST_TOOL_LINES_MAX = 20;

/** How much of a tool call's title such a line has: a title may hold a whole command. */
export const PAST_TOOL_TITLE_CHARS_MAX = 200;

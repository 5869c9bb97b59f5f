/** Tools whose calls are counted apart in one session; calls of later ones count as `other`. */
export const TOOLS_COUNTED_MAX = 64;

/** A tool's name; agents choose it. */
export const TOOL_NAME_CHARS_MAX = 64;

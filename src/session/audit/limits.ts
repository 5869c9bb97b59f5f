/** A name, id or code in an entry; agents choose some of them. */
export const AUDIT_NAME_CHARS_MAX = 256;

/** Things that an entry lists by name; of more it says how many there were. */
export const AUDIT_LISTED_MAX = 16;

/** One entry. It follows from the two above, and a test holds the entries to it. */
export const AUDIT_TEXT_CHARS_MAX = 64 * 1_024;

/** An export leaves in pieces of about this many characters: fewer, and each costs too much. */
export const EXPORT_CHUNK_CHARS = 64 * 1_024;

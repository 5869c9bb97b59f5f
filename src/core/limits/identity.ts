/** Every maximum of tokens, members and attempts, with its unit last and the reason beside it. */

/** Members of one tenant: they are in one document, which is read with every request. */
export const MEMBERS_MAX = 500;

/** Tokens of one tenant; those that are over are forgotten first when a new one wants room. */
export const TOKENS_MAX = 1_000;

/**
 * Changes of members, tokens, settings and workspaces of one tenant that wait for each other. Each
 * takes one write to the disk, so that the last of them waits for a second or two.
 */
export const TENANT_CHANGES_WAITING_MAX = 128;

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

/** Addresses whose failures are known; the one that failed first makes room for another. */
export const ATTEMPT_ADDRESSES_MAX = 10_000;

/** Credentials that are known to be good, and so are not held up by others of their address. */
export const CREDENTIALS_KNOWN_MAX = 4_096;

/** Suspects whose tokens are looked at in the store at a time, and when others may come again. */
export const SUSPECTS_MAX = 64;
export const SUSPECT_RETRY_MS = 1_000;

/** Verified JWTs, and how long at most they are believed without another look (A12). */
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

/** How long a set that could not be had is not asked for again, whoever knocks. */
export const KEY_SET_FAILED_MS = 5_000;

/** How far the clocks of whoever signs and of this machine may be apart. */
export const JWT_SKEW_MS = 5_000;

/** Sessions that are named to whoever cannot delete a tenant because others have them. */
export const HELD_SESSIONS_NAMED_MAX = 5;

/** How often it is looked at whether whoever has a stream open may still have it. */
export const STREAM_RECHECK_MS = 20_000;

/**
 * How long it counts who somebody is while their request is still on its way in. Other processes
 * tell nobody whom they have removed, so after this it is found out again.
 */
export const IDENTITY_FRESH_MS = 1_000;

/** Tenants whose voters a server remembers, to notice who is not among them any more. */
export const VOTERS_TENANTS_MAX = 1_000;

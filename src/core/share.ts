import { SHARE_TIMES_MAX } from "./limits.ts";

/** What is free of a limit, and what those who want more of it have already. */
export interface ShareUse {
  /** What is left for all users together. */
  readonly free: number;
  /** What of that is kept for tenants that have nothing yet. */
  readonly kept: number;
  readonly ofTenant: number;
  readonly ofUser: number;
}

/** Whose share is used up. */
export type ShareScope = "server" | "tenant" | "user";

/**
 * Whose share forbids a user another piece of a limit; null if none does. A tenant may hold so many
 * times what it leaves free, and a user so many times what is left to the tenant. So each of them
 * can have most of it while it is alone. What is kept is for the first piece of a tenant, however
 * many others hold their share.
 */
export function shareExceeded({ free, kept, ofTenant, ofUser }: ShareUse): ShareScope | null {
  if (free <= 0) return "server";
  if (ofTenant === 0) return null;
  const most = SHARE_TIMES_MAX * (free - kept);
  if (ofTenant >= most) return "tenant";
  const leftToTenant = (most - ofTenant) / (SHARE_TIMES_MAX + 1);
  return isShareUsedUp(ofUser, leftToTenant) ? "user" : null;
}

/** The same for a limit of one tenant or session, which only its users share. */
export function isShareUsedUp(held: number, free: number): boolean {
  return held >= SHARE_TIMES_MAX * free;
}

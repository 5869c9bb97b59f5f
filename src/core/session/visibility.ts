import type { TenantId, UserId } from "../id.ts";
import type { Role } from "../permission.ts";

/** Who sees a session: all of its tenant, or those it is shared with. */
export const VISIBILITIES = ["tenant", "private"] as const;

export type Visibility = (typeof VISIBILITIES)[number];

/** The users who see a session beside the owners of its tenant; null is the whole tenant. */
export type Audience = readonly UserId[] | null;

/** Whom a session is visible to, as its creator or an owner chooses it. */
export interface Sharing {
  readonly visibility: Visibility;
  /** Beside its creator; only of a private session. */
  readonly sharedWith: readonly UserId[];
}

/** The audience of a session; its creator is always the first of it. */
export function audienceOf(
  { visibility, sharedWith }: Sharing,
  createdBy: UserId | undefined,
): Audience {
  if (visibility === "tenant") return null;
  const others = sharedWith.filter((userId) => userId !== createdBy);
  return [...(createdBy === undefined ? [] : [createdBy]), ...new Set(others)];
}

export function sharingOf(audience: Audience, createdBy: UserId | null | undefined): Sharing {
  if (audience === null) return { visibility: "tenant", sharedWith: [] };
  const sharedWith = audience.filter((userId) => userId !== createdBy);
  return { visibility: "private", sharedWith };
}

/** Who asks for a session. */
export interface Viewer {
  readonly tenantId: TenantId;
  /** Null if all callers share one token, or need none. */
  readonly userId: UserId | null;
  readonly role: Role;
}

/** Whether a caller sees a session of this audience. To others it does not exist (P8). */
export function isVisibleTo(
  audience: Audience,
  { userId, role }: Pick<Viewer, "userId" | "role">,
): boolean {
  if (audience === null || role === "owner") return true;
  return userId !== null && audience.includes(userId);
}

/** Whether an audience has others than this user; owners see every session, and do not count. */
export function isSeenByOthers(audience: Audience, userId: UserId | null): boolean {
  return audience === null || audience.some((one) => one !== userId);
}

export function isSameAudience(one: Audience, other: Audience): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((userId) => other.includes(userId));
}

/**
 * The source of a half-made fork, so that one whose server died is found and deleted. No client
 * sees it.
 */
export const UNFINISHED_FORK = "unfinished-branch";

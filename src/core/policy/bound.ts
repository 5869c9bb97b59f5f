import type { UserId } from "../id.ts";
import { isPermitted, lesserRole, type Role } from "../permission.ts";
import { type Audience, isVisibleTo } from "../session/visibility.ts";
import { type Ceiling, ceilingOf, lowerCeiling, type TenantPolicy } from "./ceiling.ts";

/** The role with which a user speaks, and whether the tenant's list of members has that user. */
export interface Authority {
  readonly role: Role;
  /** False for the operator's token and for users by JWT: their role is as they came with it. */
  readonly isMember: boolean;
}

/** A user whose words are in a turn; older logs do not say with which role. */
export interface TurnSpeaker {
  readonly userId: UserId | null;
  readonly authority: Authority | null;
}

/** What the tenant's policy says to one command, as it was read for that command. */
export interface Bound {
  readonly ceiling: Ceiling;
  /** Of the first speaker. */
  readonly authority: Authority;
  /** Who may vote in the tenant, present or absent. */
  readonly anyone: Deciders;
  /** The same without the users who are bound. */
  readonly others: Deciders;
  /** Modes that the agent offers, where it matters whether an option is one of them. */
  readonly offeredModes?: readonly string[];
}

/** Whether there are users who may vote, and owners among them. */
interface Deciders {
  readonly voters: boolean;
  readonly owners: boolean;
}

/** Who can come to a tenant beside its members. */
export interface Outsiders {
  /** Users by JWT, whom the list of members need not have. */
  readonly users: boolean;
  /** The operator's own token, which names no user. */
  readonly operator: boolean;
}

/** A tenant, as far as it decides what binds its users. */
export interface BindingTenant {
  readonly policy: TenantPolicy;
  readonly members: ReadonlyMap<UserId, Role>;
  readonly outsiders: Outsiders;
  /** Of the session that is decided about: others than its owners do not see it. */
  readonly audience?: Audience;
}

/**
 * What binds these users together: the lowest of their ceilings, by the roles that they have now. A
 * token never makes its user more than a member. A member who was removed has no role, and neither
 * has one who does not see the session any more.
 */
export function boundOf(tenant: BindingTenant, speakers: readonly TurnSpeaker[]): Bound {
  const [first = NO_SPEAKER, ...others] = speakers;
  const ceiling = others.reduce(
    (lowest, speaker) => lowerCeiling(lowest, ceilingFor(tenant, speaker)),
    ceilingFor(tenant, first),
  );
  const role = roleNow(tenant, first) ?? "viewer";
  const isMember = first.userId !== null && tenant.members.has(first.userId);
  const authority = { role, isMember };
  const anyone = decidersBut(tenant, []);
  return { ceiling, authority, anyone, others: decidersBut(tenant, speakers) };
}

const NO_SPEAKER: TurnSpeaker = { userId: null, authority: { role: "viewer", isMember: false } };

function ceilingFor(tenant: BindingTenant, speaker: TurnSpeaker): Ceiling {
  return ceilingOf(tenant.policy, roleNow(tenant, speaker));
}

function roleNow(tenant: BindingTenant, speaker: TurnSpeaker): Role | null {
  const { userId } = speaker;
  const role = tenantRole(tenant, speaker);
  const isSeen = role !== null && isVisibleTo(tenant.audience ?? null, { userId, role });
  return isSeen ? role : null;
}

function tenantRole({ members, outsiders }: BindingTenant, speaker: TurnSpeaker): Role | null {
  const { userId, authority } = speaker;
  if (userId === null) return authority?.role ?? "owner";
  const member = members.get(userId) ?? null;
  if (member !== null) return authority === null ? member : lesserRole(authority.role, member);
  const isOutsider = authority !== null && !authority.isMember && outsiders.users;
  return isOutsider ? authority.role : null;
}

function decidersBut(tenant: BindingTenant, speakers: readonly TurnSpeaker[]): Deciders {
  const { members, outsiders, audience = null } = tenant;
  const isOther = (id: UserId | null) => !speakers.some(({ userId }) => userId === id);
  const roles = [...members]
    .filter(([userId, role]) => isOther(userId) && isVisibleTo(audience, { userId, role }))
    .map(([, role]) => role);
  const isOpen = outsiders.users || (outsiders.operator && isOther(null));
  return {
    voters: isOpen || roles.some((role) => isPermitted(role, "session:vote")),
    owners: isOpen || roles.includes("owner"),
  };
}

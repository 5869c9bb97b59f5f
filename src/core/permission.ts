/** The roles of a user in a tenant, the most powerful first. */
export const ROLES = ["owner", "admin", "member", "viewer"] as const;

export type Role = (typeof ROLES)[number];

/** Everything that a route may want of its caller. */
export const PERMISSIONS = [
  "session:create",
  "session:read",
  "session:write",
  "session:delete",
  "session:steer",
  "session:vote",
  "members:read",
  "members:write",
  "members:delete",
  "tokens:read",
  "tokens:write",
  "credits:read",
  "credits:write",
  "audit:read",
  "workspaces:write",
  "agents:write",
  "tenant:write",
] as const;

export type Permission = (typeof PERMISSIONS)[number];

const AT_WORK: readonly Permission[] = [
  "session:create",
  "session:read",
  "session:write",
  "session:steer",
  "session:vote",
];

/**
 * The permissions of each role. An admin runs a tenant but does
 * not own it: money, removing members, and tokens, which let a caller act as another user, are
 * the owners'.
 */
const PERMITTED: Readonly<Record<Role, ReadonlySet<Permission>>> = {
  owner: new Set(PERMISSIONS),
  admin: new Set([
    ...AT_WORK,
    "session:delete",
    "members:read",
    "members:write",
    "tokens:read",
    "credits:read",
    "audit:read",
    "workspaces:write",
  ]),
  member: new Set(AT_WORK),
  viewer: new Set(["session:read"]),
};

export function isPermitted(role: Role, permission: Permission): boolean {
  return PERMITTED[role].has(permission);
}

/** Those who may, in words for a refusal: `owners, admins and members`. */
export function rolesWith(permission: Permission): string {
  const names = ROLES.filter((role) => isPermitted(role, permission)).map((role) => `${role}s`);
  const last = names.at(-1) ?? "nobody";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}

/** The weaker of the two: a token never makes its user more than they are. */
export function lesserRole(one: Role, other: Role): Role {
  return ROLES.indexOf(one) > ROLES.indexOf(other) ? one : other;
}

/** Whether the first has at least as much to say as the second. */
export function isAtLeast(role: Role, least: Role): boolean {
  return lesserRole(role, least) === least;
}

export function parseRole(text: unknown): Role | null {
  return ROLES.find((role) => role === text) ?? null;
}

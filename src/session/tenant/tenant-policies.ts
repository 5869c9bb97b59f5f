import { z } from "zod";
import type { TenantId } from "../../core/id.ts";
import {
  AGENT_NAME_CHARS_MAX,
  CHILD_RESULT_BYTES_MIN,
  POLICY_NAMES_MAX,
} from "../../core/limits.ts";
import { ASKING_UNKNOWN } from "../../core/policy/asking.ts";
import { type Bound, boundOf, type Outsiders, type TurnSpeaker } from "../../core/policy/bound.ts";
import {
  type AllowedNames,
  BOUND_ROLES,
  DEFAULT_POLICY,
  type RolePolicy,
  type TenantPolicy,
  withAskingMode,
} from "../../core/policy/ceiling.ts";
import {
  CHILD_LIMITS,
  type ChildLimits,
  childLimitsText,
  NO_CHILDREN,
} from "../../core/policy/child-limits.ts";
import { AUTONOMY_PROFILES, SECURITY_MODES } from "../../core/policy/risk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { ClientActor } from "../../core/session/command.ts";
import type { Chosen } from "../../core/session/state.ts";
import { type Audience, VISIBILITIES } from "../../core/session/visibility.ts";
import type { Clock } from "../../platform/clock.ts";
import type { SessionStore } from "../../store/store.ts";
import { changeEntry, type Steward } from "../audit/entries.ts";
import type { SessionWorld } from "../world.ts";
import { readRoster } from "./roster.ts";

const names = z.union([
  z.literal("any"),
  z.array(z.string().min(1).max(AGENT_NAME_CHARS_MAX)).max(POLICY_NAMES_MAX),
]);

const upTo = (max: number) => z.int().min(1).max(max);

/** A limit that is left out is as without a policy. */
const children = z.union(
  [
    z.enum(["any", "none"]),
    strict({
      atOnce: z.int().min(0).max(CHILD_LIMITS.atOnce),
      perTurn: upTo(CHILD_LIMITS.perTurn),
      seconds: upTo(CHILD_LIMITS.seconds),
      tokens: upTo(CHILD_LIMITS.tokens),
      resultBytes: z.int().min(CHILD_RESULT_BYTES_MIN).max(CHILD_LIMITS.resultBytes),
    }),
  ],
  { error: `expected "any", "none", or whole numbers: ${Object.keys(CHILD_LIMITS).join(", ")}` },
);

const rolePolicy = strict({
  mode: z.enum(SECURITY_MODES),
  autonomy: z.enum(AUTONOMY_PROFILES),
  agents: names,
  models: names,
  skills: names,
  selfApproval: z.boolean(),
  children,
});

const visibility = z.enum(VISIBILITIES);

/** A policy as owners send it. What it leaves out is as without a policy. */
export const policyBody = strict({
  roles: strict({ owner: rolePolicy, admin: rolePolicy, member: rolePolicy }),
  visibility,
});

/** Every field may be left out; a field that is not known is refused with those that are. */
function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape).join(", ");
  return z
    .strictObject(shape, {
      error: (issue) => {
        if (issue.code !== "unrecognized_keys") return undefined;
        return `it has no field ${issue.keys.join(", ")}; its fields are ${known}`;
      },
    })
    .partial();
}

type PolicyBody = z.output<typeof policyBody>;

/** What a request says, over what holds without a policy. */
export function policyOf({ roles = {}, visibility: seen }: PolicyBody): TenantPolicy {
  const { owner, admin, member } = DEFAULT_POLICY.roles;
  return {
    roles: {
      owner: { ...owner, ...given(roles.owner) },
      admin: { ...admin, ...given(roles.admin) },
      member: { ...member, ...given(roles.member) },
    },
    visibility: seen ?? DEFAULT_POLICY.visibility,
  };
}

/** Without the fields that are there and undefined. */
function given({
  children: limits,
  ...fields
}: z.output<typeof rolePolicy> = {}): Partial<RolePolicy> {
  const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return { ...set, ...(limits !== undefined && { children: childLimitsOf(limits) }) };
}

function childLimitsOf(limits: z.output<typeof children>): ChildLimits {
  if (limits === "none") return NO_CHILDREN;
  if (limits === "any") return CHILD_LIMITS;
  const { atOnce, perTurn, seconds, tokens, resultBytes } = CHILD_LIMITS;
  return {
    atOnce: limits.atOnce ?? atOnce,
    perTurn: limits.perTurn ?? perTurn,
    seconds: limits.seconds ?? seconds,
    tokens: limits.tokens ?? tokens,
    resultBytes: limits.resultBytes ?? resultBytes,
  };
}

/** A policy as it is stored. */
export interface StoredPolicy {
  /** Of the document; 0 if no owner has set one. */
  readonly version: number;
  readonly policy: TenantPolicy;
}

type PolicyStore = Pick<SessionStore, "readDocument" | "writeDocument">;

const KIND = "policy";
const KEY = "all";

/**
 * The policies of all tenants. Each is one document, read anew for every decision that it binds: a
 * change counts at once, also one that another process has made.
 */
export class TenantPolicies {
  readonly #store: PolicyStore;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #outsiders: (tenantId: TenantId) => Outsiders;

  constructor(
    store: PolicyStore,
    clock: Pick<Clock, "nowMs">,
    outsiders: (tenantId: TenantId) => Outsiders = () => NO_OUTSIDERS,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#outsiders = outsiders;
  }

  async of(tenantId: TenantId): Promise<Result<StoredPolicy>> {
    const found = await this.#store.readDocument(tenantId, KIND, KEY);
    if (!found.ok) return found;
    if (found.value === null) return ok({ version: 0, policy: DEFAULT_POLICY });
    const read = policyBody.safeParse(found.value.value);
    // An unreadable policy is refused, never taken for none.
    if (!read.success) return fail("session_corrupt", { reason: `document ${KIND}/${KEY}` });
    return ok({ version: found.value.version, policy: policyOf(read.data) });
  }

  /** Replaces the version that its author has read; refused if another owner was faster. */
  async set(
    tenantId: TenantId,
    { version: expected, policy }: StoredPolicy,
    by: Steward,
  ): Promise<Result<StoredPolicy>> {
    const before = await this.of(tenantId);
    const old = before.ok ? before.value.policy : DEFAULT_POLICY;
    const details = { version: expected + 1, changed: changesIn(old, policy) };
    const atMs = this.#clock.nowMs();
    const entry = changeEntry({ act: "policy_set", by, details, atMs });
    const { roles, visibility: seen } = policy;
    const written = await this.#store.writeDocument(tenantId, {
      kind: KIND,
      key: KEY,
      expectedVersion: expected,
      value: { roles: { ...roles }, visibility: seen },
      entries: [entry],
    });
    if (written.ok) return ok({ version: expected + 1, policy });
    if (written.refusal.code !== "document_conflict") return written;
    const version = Number(written.refusal.details.version ?? 0);
    return fail("policy_conflict", { version, expected });
  }

  /** What binds these users together, in this tenant and at this moment. */
  async boundFor(
    tenantId: TenantId,
    speakers: readonly TurnSpeaker[],
    audience: Audience = null,
  ): Promise<Result<Bound>> {
    const [stored, members] = await Promise.all([
      this.of(tenantId),
      readRoster(this.#store, tenantId),
    ]);
    if (!stored.ok) return stored;
    if (!members.ok) return members;
    const outsiders = this.#outsiders(tenantId);
    const tenant = { policy: stored.value.policy, members: members.value, outsiders };
    return ok(boundOf({ ...tenant, audience }, speakers));
  }
}

const NO_OUTSIDERS: Outsiders = { users: false, operator: false };

/** What became of each field that changed: `member.mode: ask`, and so on. */
function changesIn(old: TenantPolicy, now: TenantPolicy): readonly string[] {
  const seen = old.visibility === now.visibility ? [] : [`visibility: ${now.visibility}`];
  const roles = BOUND_ROLES.flatMap((role) => {
    return policyFields(now.roles[role])
      .filter(([name, text]) => new Map(policyFields(old.roles[role])).get(name) !== text)
      .map(([name, text]) => `${role}.${name}: ${text}`);
  });
  return [...roles, ...seen];
}

/** The fields of a role's policy as short texts, for people and for the audit. */
export function policyFields(policy: RolePolicy): readonly (readonly [string, string])[] {
  const { mode, autonomy, agents, models, skills, selfApproval } = policy;
  const limits = policy.children;
  return [
    ["mode", mode],
    ["autonomy", autonomy],
    ["agents", listText(agents)],
    ["models", listText(models)],
    ["skills", listText(skills)],
    ["selfApproval", selfApproval ? "yes" : "no"],
    ["children", childLimitsText(limits)],
  ];
}

function listText(allowed: AllowedNames): string {
  if (allowed === "any") return allowed;
  return allowed.length === 0 ? "none" : allowed.join(",");
}

/** The caller of a request; whether the members' list has that user is looked up with the rest. */
export function callerSpeaker(caller: Pick<ClientActor, "userId" | "role">): TurnSpeaker {
  const { userId, role } = caller;
  return { userId, authority: role === undefined ? null : { role, isMember: false } };
}

/** What binds these users in a session; undefined where no caller needs a token. */
export async function boundIn(
  { policies, settings }: Pick<SessionWorld, "policies" | "settings">,
  tenantId: TenantId,
  speakers: readonly TurnSpeaker[],
  { activeAgent, audience }: Pick<Chosen, "activeAgent" | "audience">,
): Promise<Result<Bound | undefined>> {
  if (policies === undefined) return ok(undefined);
  const bound = await policies.boundFor(tenantId, speakers, audience ?? null);
  if (!bound.ok) return bound;
  const asking = settings.asking.get(activeAgent) ?? ASKING_UNKNOWN;
  return ok({ ...bound.value, ceiling: withAskingMode(bound.value.ceiling, asking) });
}

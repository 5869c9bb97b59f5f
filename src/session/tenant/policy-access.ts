import { unknownAgent } from "../../core/agent-name.ts";
import type { Refusal } from "../../core/error.ts";
import type { TenantId } from "../../core/id.ts";
import {
  BOUND_ROLES,
  type Ceiling,
  ceilingOf,
  ceilingRefusal,
  type TenantPolicy,
} from "../../core/policy/ceiling.ts";
import type { AutonomyProfile } from "../../core/policy/risk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Viewer, Visibility } from "../../core/session/visibility.ts";
import type { SessionWorld } from "../world.ts";
import type { StoredPolicy } from "./tenant-policies.ts";

/** What a caller is told of the tenant's policy. */
export interface PolicyView {
  readonly version: number;
  /** Null for callers who may not see it all, and where callers need no token. */
  readonly policy: TenantPolicy | null;
  /** Null where nothing binds. */
  readonly ceiling: Ceiling | null;
}

/** The tenant's policy, as fronts read and set it. */
export class PolicyAccess {
  readonly #world: Pick<SessionWorld, "policies" | "settings">;

  constructor(world: Pick<SessionWorld, "policies" | "settings">) {
    this.#world = world;
  }

  /** What binds a caller, and for owners the whole policy; without tokens nothing binds. */
  async view({ tenantId, role }: Viewer): Promise<Result<PolicyView>> {
    const { policies } = this.#world;
    if (policies === undefined) return ok({ version: 0, policy: null, ceiling: null });
    const stored = await policies.of(tenantId);
    if (!stored.ok) return stored;
    const { version, policy } = stored.value;
    const ceiling = ceilingOf(policy, role);
    return ok({ version, policy: role === "owner" ? policy : null, ceiling });
  }

  /** Sets the policy of the caller's tenant; it binds open sessions with their next decision. */
  async set(viewer: Viewer, wanted: StoredPolicy): Promise<Result<PolicyView>> {
    const { policies, settings } = this.#world;
    if (policies === undefined) return fail("token_required");
    const unknown = namedAgents(wanted.policy).find((name) => !settings.agentNames.includes(name));
    if (unknown !== undefined) return unknownAgent(unknown, settings.agentNames);
    const by = { kind: "client", userId: viewer.userId } as const;
    const set = await policies.set(viewer.tenantId, wanted, by);
    if (!set.ok) return set;
    return ok({ ...set.value, ceiling: ceilingOf(set.value.policy, viewer.role) });
  }

  /** Why a caller may not make this the usual autonomy of new sessions; null if they may. */
  async forbidsAutonomy(viewer: Viewer, autonomy: AutonomyProfile): Promise<Refusal | null> {
    const view = await this.view(viewer);
    if (!view.ok) return view.refusal;
    const { ceiling } = view.value;
    return ceiling === null ? null : ceilingRefusal(ceiling, { autonomy });
  }

  /** Who sees a new session whose request does not say so; the tenant where nothing binds. */
  async visibilityOf(tenantId: TenantId): Promise<Result<Visibility>> {
    const { policies } = this.#world;
    if (policies === undefined) return ok("tenant");
    const stored = await policies.of(tenantId);
    return stored.ok ? ok(stored.value.policy.visibility) : stored;
  }
}

function namedAgents({ roles }: TenantPolicy): readonly string[] {
  return BOUND_ROLES.flatMap((role) => (roles[role].agents === "any" ? [] : roles[role].agents));
}

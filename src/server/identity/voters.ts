import type { TenantId, UserId } from "../../core/id.ts";
import { VOTERS_TENANTS_MAX } from "../../core/limits.ts";
import { isPermitted } from "../../core/permission.ts";
import type { Member } from "./members.ts";

/**
 * Which members of a tenant may vote, as this server saw it last. Members are changed from here
 * and by other processes, and whoever loses their vote by that is told on, so that no ask waits for
 * them. Whoever comes in by the word of an issuer need not be a member, and is not missed here.
 */
export class Voters {
  readonly #gone: (tenantId: TenantId, userId: UserId) => Promise<void>;
  readonly #known = new Map<TenantId, ReadonlySet<UserId>>();
  /** What is being done about those who are gone, for whoever sees the same meanwhile. */
  readonly #going = new Map<TenantId, Promise<unknown>>();

  constructor(gone: (tenantId: TenantId, userId: UserId) => Promise<void>) {
    this.#gone = gone;
  }

  /**
   * These are a tenant's members now. Null if none of them is gone who had a vote, nor one who may
   * have shown a sign of life after they had lost it; else what is being done about it.
   */
  saw(
    tenantId: TenantId,
    members: readonly Member[],
    suspect: UserId | null = null,
  ): Promise<unknown> | null {
    const known = this.#known.get(tenantId) ?? NO_VOTERS;
    if (suspect === null && areThese(known, members)) {
      if (known !== NO_VOTERS) this.#keep(tenantId, known);
      return this.#going.get(tenantId) ?? null;
    }
    const voters = new Set(members.filter(mayVote).map(({ userId }) => userId));
    this.#keep(tenantId, voters);
    const before = suspect === null ? known : new Set([...known, suspect]);
    const gone = [...before].filter((userId) => !voters.has(userId));
    return gone.length === 0 ? (this.#going.get(tenantId) ?? null) : this.#follow(tenantId, gone);
  }

  #follow(tenantId: TenantId, gone: readonly UserId[]): Promise<unknown> {
    const ends = gone.map((userId) => this.#gone(tenantId, userId));
    const going = Promise.all([this.#going.get(tenantId), ...ends]).finally(() => {
      if (this.#going.get(tenantId) === going) this.#going.delete(tenantId);
    });
    this.#going.set(tenantId, going);
    return going;
  }

  /** Of too many tenants the one that was not seen for longest is forgotten. */
  #keep(tenantId: TenantId, voters: ReadonlySet<UserId>) {
    this.#known.delete(tenantId);
    if (voters.size === 0) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= VOTERS_TENANTS_MAX && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(tenantId, voters);
  }
}

const NO_VOTERS: ReadonlySet<UserId> = new Set();

function mayVote({ role }: Member): boolean {
  return isPermitted(role, "session:vote");
}

/** Asked with every request, so nothing is made for it. */
function areThese(known: ReadonlySet<UserId>, members: readonly Member[]): boolean {
  let count = 0;
  for (const member of members) {
    if (!mayVote(member)) continue;
    if (!known.has(member.userId)) return false;
    count += 1;
  }
  return count === known.size;
}

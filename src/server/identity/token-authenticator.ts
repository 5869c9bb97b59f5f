import type { TenantId, UserId } from "../../core/id.ts";
import { TOKEN_USE_NOTED_MS, VOTERS_TENANTS_MAX } from "../../core/limits.ts";
import { isPermitted, lesserRole } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { TenantGate } from "../../session/tenant/tenant-gate.ts";
import type { Clock } from "../../session/world.ts";
import type { Document, SessionStore } from "../../store/store.ts";
import {
  type Authenticator,
  bearerToken,
  type Identified,
  type Suspect,
  UNKNOWN_CALLER,
} from "../http/authenticator.ts";
import type { Member, Members } from "./members.ts";
import {
  type Credential,
  isInUse,
  isOpenedBy,
  parseCredential,
  readTokenRecord,
  TOKEN_KIND,
} from "./tokens.ts";

/**
 * In by a token that is stored. It names its tenant and itself, so both lookups are by key, and
 * they are made with every request: whatever is revoked or changed, by whichever process, counts
 * from the next request on.
 */
export class TokenAuthenticator implements Authenticator {
  readonly #store: SessionStore;
  readonly #members: Members;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #tenants: TenantGate;
  readonly #voters: Voters | null;
  /** Those whose last use is being written down just now. */
  readonly #noting = new Set<string>();

  constructor(
    store: SessionStore,
    members: Members,
    clock: Pick<Clock, "nowMs">,
    tenants = new TenantGate(),
    voters: Voters | null = null,
  ) {
    this.#store = store;
    this.#members = members;
    this.#clock = clock;
    this.#tenants = tenants;
    this.#voters = voters;
  }

  authenticate(text: string): Identified | Promise<Identified> {
    const credential = parseCredential(text);
    return credential === null ? UNKNOWN_CALLER : this.#lookUp(credential);
  }

  async #lookUp(credential: Credential): Promise<Identified> {
    const { tenantId, tokenId } = credential;
    const { deletions } = this.#tenants;
    const [found, members] = await Promise.all([
      this.#store.readDocument(tenantId, TOKEN_KIND, tokenId),
      this.#members.list(tenantId),
    ]);
    // Of a tenant that may have been deleted meanwhile, nothing is written any more.
    const isNoted = this.#tenants.deletions === deletions;
    const isGoing = !isNoted || this.#tenants.isClosed(tenantId);
    if (!found.ok) return isGoing ? OF_NO_MORE : found;
    if (!members.ok) return isGoing ? OF_NO_MORE : members;
    this.#missVoters(tenantId, members.value);
    return found.value === null
      ? UNKNOWN_CALLER
      : this.#judge(credential, found.value, members.value, isNoted);
  }

  /** What another process has done about them is noticed by whoever comes next. */
  #missVoters(tenantId: TenantId, members: readonly Member[]) {
    const missing = this.#voters?.saw(tenantId, members) ?? null;
    if (missing !== null) void this.#tenants.count(tenantId, missing);
  }

  async recheck(tenantId: TenantId, suspect: Suspect | null): Promise<void> {
    await this.#tenants.admit(tenantId, async () => {
      const members = await this.#members.list(tenantId);
      const isOurs = parseCredential(bearerToken(suspect?.authorization) ?? "") !== null;
      const missed = isOurs && suspect !== null ? suspect.userId : null;
      if (members.ok) await this.#voters?.saw(tenantId, members.value, missed);
    });
  }

  #judge(
    { tenantId, secret }: Credential,
    document: Document,
    members: readonly Member[],
    isNoted: boolean,
  ): Identified {
    const nowMs = this.#clock.nowMs();
    const token = readTokenRecord(document.value);
    if (token === null || !isOpenedBy(token, secret, nowMs) || !isInUse(token, nowMs)) {
      return UNKNOWN_CALLER;
    }
    const { userId, membership, lastUsedAtMs } = token;
    const member = members.find((one) => one.userId === userId);
    if (member === undefined || member.membership !== membership) return UNKNOWN_CALLER;
    const unnotedMs = lastUsedAtMs === null ? null : nowMs - lastUsedAtMs;
    const isDue = unnotedMs === null || unnotedMs < 0 || unnotedMs >= TOKEN_USE_NOTED_MS;
    if (isDue && isNoted) {
      void this.#tenants.admit(tenantId, () => this.#note(tenantId, document, nowMs));
    }
    return ok({ tenantId, userId, role: lesserRole(token.role, member.role) });
  }

  /**
   * Nobody waits for this, and it replaces only what was read: a token that was revoked meanwhile
   * stays so. What is not written down is written with a later use.
   */
  async #note(
    tenantId: Credential["tenantId"],
    { kind, key, version, value }: Document,
    lastUsedAtMs: number,
  ): Promise<void> {
    const name = `${tenantId} ${key}`;
    if (this.#noting.has(name)) return;
    this.#noting.add(name);
    const noted = { kind, key, expectedVersion: version, value: { ...value, lastUsedAtMs } };
    await this.#store.writeDocument(tenantId, noted).catch(() => {});
    this.#noting.delete(name);
  }
}

/** In the moment in which a tenant goes it cannot be read; and then its tokens open nothing. */
const OF_NO_MORE: Identified = fail("unauthorized");

/**
 * Whether anybody has a token here, in use or not: then nobody comes in without one. A tenant that
 * cannot be read may have some, so it counts as one that has.
 */
export async function hasStoredTokens(store: SessionStore): Promise<Result<boolean>> {
  const tenants = await store.tenants();
  if (!tenants.ok) return tenants;
  for (const tenantId of tenants.value) {
    const page = await store.listDocuments(tenantId, TOKEN_KIND, null);
    if (!page.ok || page.value.rows.length > 0) return ok(true);
  }
  return ok(false);
}

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

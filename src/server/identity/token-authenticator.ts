import type { TenantId, UserId } from "../../core/id.ts";
import { TOKEN_USE_NOTED_MS, VOTERS_TENANTS_MAX } from "../../core/limits.ts";
import { isPermitted, lesserRole } from "../../core/permission.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Member, TenantGate } from "../../session/index.ts";
import type { Document } from "../../store/store.ts";
import {
  type Authenticator,
  bearerToken,
  type Identified,
  type Suspect,
  UNKNOWN_CALLER,
} from "../http/authenticator.ts";
import type { Members } from "./members.ts";
import type { TenantStore } from "./tenant-document.ts";
import {
  type Credential,
  isInUse,
  isOpenedBy,
  parseCredential,
  readTokenRecord,
  TOKEN_KIND,
} from "./tokens.ts";

/**
 * Authenticates stored tokens. A token names its tenant and itself, so both lookups are by key.
 * They are made for every request: a revocation or change by any process counts from the next
 * request on.
 */
export class TokenAuthenticator implements Authenticator {
  readonly #store: TenantStore;
  readonly #members: Members;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #tenants: TenantGate;
  readonly #voters: Voters | null;
  /** Tokens whose last use is being written. */
  readonly #writing = new Set<string>();

  constructor(
    store: TenantStore,
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
    // Nothing is written for a tenant that may have been deleted meanwhile.
    const isNoted = this.#tenants.deletions === deletions;
    const isGoing = !isNoted || this.#tenants.isClosed(tenantId);
    if (!found.ok) return isGoing ? TENANT_GONE : found;
    if (!members.ok) return isGoing ? TENANT_GONE : members;
    this.#reportLostVotes(tenantId, members.value);
    return found.value === null
      ? UNKNOWN_CALLER
      : this.#judge(credential, found.value, members.value, isNoted);
  }

  /** The next request notices a change that another process made. */
  #reportLostVotes(tenantId: TenantId, members: readonly Member[]) {
    const missing = this.#voters?.update(tenantId, members) ?? null;
    if (missing !== null) void this.#tenants.count(tenantId, missing);
  }

  async recheck(tenantId: TenantId, suspect: Suspect | null): Promise<void> {
    await this.#tenants.admit(tenantId, async () => {
      const members = await this.#members.list(tenantId);
      const isOurs = parseCredential(bearerToken(suspect?.authorization) ?? "") !== null;
      const missed = isOurs && suspect !== null ? suspect.userId : null;
      if (members.ok) await this.#voters?.update(tenantId, members.value, missed);
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
   * Writes the last use. No request waits for it, and it replaces only what was read, so a token
   * that was revoked meanwhile stays revoked. A failed write is made up by a later use.
   */
  async #note(
    tenantId: Credential["tenantId"],
    { kind, key, version, value }: Document,
    lastUsedAtMs: number,
  ): Promise<void> {
    const name = `${tenantId} ${key}`;
    if (this.#writing.has(name)) return;
    this.#writing.add(name);
    const noted = { kind, key, expectedVersion: version, value: { ...value, lastUsedAtMs } };
    await this.#store.writeDocument(tenantId, noted).catch(() => {});
    this.#writing.delete(name);
  }
}

/** While a tenant is being deleted it cannot be read, and its tokens are invalid. */
const TENANT_GONE: Identified = fail("unauthorized");

/**
 * Whether any token is stored, in use or not: then all callers need one. A tenant that cannot be
 * read counts as having tokens.
 */
export async function hasStoredTokens(store: TenantStore): Promise<Result<boolean>> {
  const tenants = await store.tenants();
  if (!tenants.ok) return tenants;
  for (const tenantId of tenants.value) {
    const page = await store.listDocuments(tenantId, TOKEN_KIND, null);
    if (!page.ok || page.value.rows.length > 0) return ok(true);
  }
  return ok(false);
}

/** What members of a tenant have lost; each call ends when all open asks go on without it. */
interface LostRights {
  lostVote(tenantId: TenantId, userId: UserId): Promise<void>;
  /** An owner is less now, and still has a vote. */
  lostOwnership(tenantId: TenantId, userId: UserId): Promise<void>;
}

/** Whether each of a tenant's voters is an owner. */
type KnownVoters = ReadonlyMap<UserId, boolean>;

/**
 * Which members of a tenant may vote, as last seen. Members change in this process and in others.
 * Those who lost their vote are reported, so that no ask waits for them, and those who are owners
 * no more, since they do not see all sessions now. Callers by JWT need not be members, and are not
 * reported.
 */
export class Voters {
  readonly #lost: LostRights;
  readonly #known = new BoundedMap<TenantId, KnownVoters>(VOTERS_TENANTS_MAX);
  /** Reports under way, for callers that see the same change. */
  readonly #reports = new Map<TenantId, Promise<unknown>>();

  constructor(lost: LostRights) {
    this.#lost = lost;
  }

  /**
   * Compares the tenant's current members with the last known voters. Null if none has lost a
   * right, and the suspect neither; otherwise the report under way.
   */
  update(
    tenantId: TenantId,
    members: readonly Member[],
    suspect: UserId | null = null,
  ): Promise<unknown> | null {
    const known = this.#known.get(tenantId) ?? NO_VOTERS;
    if (suspect === null && isSame(known, members)) {
      if (known !== NO_VOTERS) this.#keep(tenantId, known);
      return this.#reports.get(tenantId) ?? null;
    }
    const voters = new Map(members.filter(mayVote).map((member) => [member.userId, owns(member)]));
    this.#keep(tenantId, voters);
    const before = new Set(suspect === null ? known.keys() : [...known.keys(), suspect]);
    const votes = [...before].filter((userId) => !voters.has(userId));
    const owners = [...before].filter((id) => known.get(id) === true && voters.get(id) === false);
    const ends = [
      ...votes.map((userId) => this.#lost.lostVote(tenantId, userId)),
      ...owners.map((userId) => this.#lost.lostOwnership(tenantId, userId)),
    ];
    return ends.length === 0 ? (this.#reports.get(tenantId) ?? null) : this.#follow(tenantId, ends);
  }

  #follow(tenantId: TenantId, ends: readonly Promise<void>[]): Promise<unknown> {
    const going = Promise.all([this.#reports.get(tenantId), ...ends]).finally(() => {
      if (this.#reports.get(tenantId) === going) this.#reports.delete(tenantId);
    });
    this.#reports.set(tenantId, going);
    return going;
  }

  #keep(tenantId: TenantId, voters: KnownVoters) {
    if (voters.size === 0) this.#known.delete(tenantId);
    else this.#known.set(tenantId, voters);
  }
}

const NO_VOTERS: KnownVoters = new Map();

function mayVote({ role }: Member): boolean {
  return isPermitted(role, "session:vote");
}

function owns({ role }: Member): boolean {
  return role === "owner";
}

/** Called for every request, so it allocates nothing. */
function isSame(known: KnownVoters, members: readonly Member[]): boolean {
  let count = 0;
  for (const member of members) {
    if (!mayVote(member)) continue;
    if (known.get(member.userId) !== owns(member)) return false;
    count += 1;
  }
  return count === known.size;
}

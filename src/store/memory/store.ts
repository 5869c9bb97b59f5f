import type { TenantId, UserId } from "../../core/id.ts";
import { COMMIT_BYTES_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { isVisibleTo } from "../../core/session/visibility.ts";
import type {
  Backend,
  Claim,
  DocumentQuery,
  DocumentText,
  ListPosition,
  ListRange,
} from "../backend.ts";
import { checkCut, checkPosition } from "../check.ts";
import { describeHolder, type Holder, mayTake } from "../holder.ts";
import { storeContract } from "../lifecycle.ts";
import type { StoreSteps } from "../operation.ts";
import type { SearchRange, SearchTerms } from "../search.ts";
import type * as S from "../store.ts";
import { StoreSurface } from "../surface.ts";
import { foundIn, MemorySession, MemoryTenant } from "./tenant.ts";

/**
 * For tests, and for sessions that may be forgotten: everything is gone with the process. Nothing
 * else is weaker than in the other stores.
 */
export function memoryStore(
  snapshotBytesLimit: number = COMMIT_BYTES_MAX,
  steps: StoreSteps = {},
): S.SessionStore {
  const contract = storeContract("memory", {}, snapshotBytesLimit, true);
  return new StoreSurface(contract, {}, new MemoryBackend(), steps);
}

/** The backend in its shortest form: read it before writing another. */
export class MemoryBackend implements Backend {
  readonly #tenants = new Map<TenantId, MemoryTenant>();
  #lastTerm = 0;

  async open() {
    return DONE;
  }

  async shut() {
    this.#tenants.clear();
  }

  explain(thrown: unknown) {
    return fail("store_unavailable", { reason: String(thrown) });
  }

  async create(key: S.SessionKey, created: S.NewSession): Promise<Result<S.Owned>> {
    return this.#change(key.tenantId, (tenant) => {
      const { sessionId } = key;
      if (tenant.sessions.has(sessionId)) return fail("session_id_conflict", { sessionId });
      const session = new MemorySession(sessionId, created, this.#lastTerm + 1);
      const committed = apply(tenant, session, created.commit);
      if (!committed.ok) return committed;
      this.#lastTerm = session.term;
      tenant.sessions.set(sessionId, session);
      return ok({ term: session.term, revision: committed.value.revision });
    });
  }

  async acquire(key: S.SessionKey, claim: Claim): Promise<Result<S.Opened>> {
    const found = this.#claimed(key, claim);
    if (!found.ok) return found;
    const { session } = found.value;
    const replaced = session.holder;
    session.own(claim.holder, this.#nextTerm());
    const { term, manifest, record } = session;
    return ok({ term, record, manifest, ...session.readSlots(), replaced });
  }

  async commit(key: S.SessionKey, term: number, commit: S.Commit): Promise<Result<S.Committed>> {
    const found = this.#owned(key, term);
    return found.ok ? apply(found.value.tenant, found.value.session, commit) : found;
  }

  async cutLog(key: S.SessionKey, term: number, cut: S.LogCut): Promise<Result<void>> {
    const found = this.#owned(key, term);
    if (!found.ok) return found;
    const { tenant, session } = found.value;
    const may = checkCut(cut, session.position);
    const journalled = may.ok ? tenant.append(cut.audit) : may;
    if (journalled.ok) session.cutLog(cut);
    return journalled;
  }

  async release(key: S.SessionKey, term: number) {
    const found = this.#session(key);
    if (found.ok && found.value.session.term === term) found.value.session.release();
    return DONE;
  }

  async remove(key: S.SessionKey, claim: Claim): Promise<Result<void>> {
    const found = this.#claimed(key, claim);
    if (!found.ok) return found;
    found.value.tenant.sessions.delete(key.sessionId);
    return DONE;
  }

  readRecord = async (key: S.SessionKey) => this.#read(key, (session) => session.record);
  readManifest = async (key: S.SessionKey) => this.#read(key, (session) => session.manifest);
  readSlots = async (key: S.SessionKey) => this.#read(key, (session) => session.readSlots());

  async readEvents(key: S.SessionKey, range: S.Range) {
    return this.#read(key, (session) => session.readEvents(range));
  }

  async readTurns(key: S.SessionKey, range: S.BackwardRange) {
    return this.#read(key, (session) => session.readTurns(range));
  }

  async readMessages(key: S.SessionKey, range: S.Range) {
    return this.#read(key, (session) => session.readMessages(range));
  }

  async list(tenantId: TenantId, filter: S.ListFilter, { limit, after }: ListRange) {
    const records = [...this.#known(tenantId).sessions.values()]
      .map(({ record }) => record)
      .filter((record) => isListed(record, filter) && (after === null || follows(record, after)))
      .sort((a, b) => (follows(a, b) ? 1 : -1));
    const last = records.length > limit ? records[limit - 1] : undefined;
    const sessions = records.slice(0, limit);
    return ok({ sessions, damaged: [], continuesAfter: last ?? null });
  }

  async search(tenantId: TenantId, terms: SearchTerms, range: SearchRange) {
    const sessions = [...this.#known(tenantId).sessions.values()].filter(({ record }) =>
      isListed(record, terms.filter),
    );
    return ok(foundIn(sessions, terms, range));
  }

  async tenants() {
    return ok([...this.#tenants.keys()]);
  }

  async removeTenant(tenantId: TenantId, holder: Holder): Promise<Result<void>> {
    for (const { holder: held } of this.#known(tenantId).sessions.values()) {
      if (held === null || mayTake(held, holder)) continue;
      return fail("session_locked", { holder: describeHolder(held) });
    }
    this.#tenants.delete(tenantId);
    return DONE;
  }

  async appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    if (entries.length === 0) return DONE;
    return this.#change(tenantId, (tenant) => tenant.append(entries));
  }

  async readJournal(tenantId: TenantId, query: S.JournalQuery) {
    return ok(this.#known(tenantId).readJournal(query));
  }

  async readDocuments(tenantId: TenantId, query: DocumentQuery) {
    return ok(this.#known(tenantId).readDocuments(query));
  }

  async writeDocument(tenantId: TenantId, document: DocumentText) {
    const { expectedVersion, text, entries } = document;
    const doesNothing = expectedVersion === 0 && text === null && entries.length === 0;
    if (doesNothing && !this.#tenants.has(tenantId)) return ok(0);
    return this.#change(tenantId, (tenant) => tenant.writeDocument(document));
  }

  async writeBlob(tenantId: TenantId, hash: string, bytes: Uint8Array) {
    return this.#change(tenantId, (tenant) => {
      tenant.blobs.set(hash, Uint8Array.from(bytes));
      return DONE;
    });
  }

  async readBlob(tenantId: TenantId, hash: string) {
    return ok(this.#known(tenantId).blobs.get(hash)?.slice() ?? null);
  }

  /**
   * Terms are never used twice, not by a session made anew under a deleted one's id, nor in a
   * tenant made anew under a removed one's.
   */
  #nextTerm(): number {
    this.#lastTerm += 1;
    return this.#lastTerm;
  }

  /** An unknown tenant is an empty one, and does not become known by being asked for. */
  #known(tenantId: TenantId): MemoryTenant {
    return this.#tenants.get(tenantId) ?? new MemoryTenant();
  }

  #change<Value>(tenantId: TenantId, act: (tenant: MemoryTenant) => Result<Value>): Result<Value> {
    const tenant = this.#known(tenantId);
    const result = act(tenant);
    if (result.ok) this.#tenants.set(tenantId, tenant);
    return result;
  }

  #session({ tenantId, sessionId }: S.SessionKey): Result<FoundSession> {
    const tenant = this.#known(tenantId);
    const session = tenant.sessions.get(sessionId);
    return session === undefined
      ? fail("session_not_found", { sessionId })
      : ok({ tenant, session });
  }

  #owned(key: S.SessionKey, term: number): Result<FoundSession> {
    const found = this.#session(key);
    if (!found.ok) return found;
    const { holder, term: current } = found.value.session;
    return holder !== null && current === term ? found : fail("writer_lost");
  }

  /** A session that this claim may have, with the claim in the journal. */
  #claimed(key: S.SessionKey, { holder, audit, seizes }: Claim): Result<FoundSession> {
    const found = this.#session(key);
    if (!found.ok) return found;
    const held = found.value.session.holder;
    if (held !== null && !seizes && !mayTake(held, holder)) {
      return fail("session_locked", { holder: describeHolder(held) });
    }
    const journalled = found.value.tenant.append(audit);
    return journalled.ok ? found : journalled;
  }

  #read<Value>(key: S.SessionKey, read: (session: MemorySession) => Value): Result<Value> {
    const found = this.#session(key);
    return found.ok ? ok(read(found.value.session)) : found;
  }
}

interface FoundSession {
  readonly tenant: MemoryTenant;
  readonly session: MemorySession;
}

function apply(
  tenant: MemoryTenant,
  session: MemorySession,
  commit: S.Commit,
): Result<S.Committed> {
  const continues = checkPosition(commit, session.position);
  if (!continues.ok) return continues;
  const journalled = tenant.append(commit.journal);
  if (!journalled.ok) return journalled;
  session.apply(commit);
  const { revision, lastEventId } = session.position;
  return ok({ revision, lastEventId });
}

function follows(record: ListPosition, place: ListPosition): boolean {
  if (record.updatedAtMs !== place.updatedAtMs) return record.updatedAtMs < place.updatedAtMs;
  return record.sessionId > place.sessionId;
}

const memberNamed = (userId: UserId | null) => ({ userId, role: "member" }) as const;

function isListed(record: S.StoredRecord, filter: S.ListFilter): boolean {
  const { statuses, text, hasPendingPrompts, updatedFromMs, updatedBeforeMs, ...others } = filter;
  const { visibleTo, ...equal } = others;
  if (visibleTo !== undefined && !isVisibleTo(record.audience, memberNamed(visibleTo)))
    return false;
  if (hasPendingPrompts !== undefined && record.pendingPrompts > 0 !== hasPendingPrompts) {
    return false;
  }
  const { updatedAtMs } = record;
  if (updatedAtMs < (updatedFromMs ?? updatedAtMs)) return false;
  if (updatedBeforeMs !== undefined && updatedAtMs >= updatedBeforeMs) return false;
  const wanted = Object.entries(equal).every(([field, value]) =>
    Object.entries(record).some(([name, own]) => name === field && own === value),
  );
  const named = record.displayName?.toLowerCase().includes((text ?? "").toLowerCase()) ?? false;
  return wanted && (text === undefined || named) && (statuses?.includes(record.status) ?? true);
}

import type { TenantId } from "../../core/id.ts";
import { COMMIT_BYTES_MAX } from "../../core/limits.ts";
import type { Backend, DocumentQuery, DocumentText, ListRange, Place } from "../backend.ts";
import { checkPosition } from "../check.ts";
import { configSchema } from "../config.ts";
import { describeHolder, type Holder, isGone } from "../holder.ts";
import { DONE, fail, ok, type Result } from "../result.ts";
import type * as S from "../store.ts";
import { StoreSurface } from "../surface.ts";
import { MemorySession } from "./session.ts";
import { MemoryTenant } from "./tenant.ts";

/**
 * For tests, and for sessions that may be forgotten: everything is gone with the process. Nothing
 * else is weaker than in the other stores.
 */
export function memoryStore(snapshotBytesLimit: number = COMMIT_BYTES_MAX): S.SessionStore {
  const contract: S.StoreContract = {
    kind: "SessionStore",
    contractVersion: "1.0.0",
    requiredCoreVersion: ">=0.1.0",
    configSchema: configSchema({}),
    loadedCardinality: "unlimited",
    activeCardinality: "one",
    stateSlot: null,
    discoveryRules: { folder: "session-stores", key: "memory" },
    reloadBehavior: "never",
    capabilities: {
      journaling: true,
      snapshotBytesLimit,
      largeSlotStreaming: false,
      concurrentReaders: true,
    },
    storeId: "memory",
  };
  return new StoreSurface(contract, {}, new MemoryBackend());
}

/** The backend in its shortest form: read it before writing another. */
class MemoryBackend implements Backend {
  readonly #tenants = new Map<TenantId, MemoryTenant>();

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
      const session = new MemorySession(sessionId, created, tenant.nextTerm());
      const committed = apply(tenant, session, created.commit);
      if (!committed.ok) return committed;
      tenant.sessions.set(sessionId, session);
      return ok({ term: session.term, revision: committed.value.revision });
    });
  }

  async acquire(key: S.SessionKey, holder: Holder, audit: readonly S.JournalEntry[]) {
    const found = this.#session(key);
    if (!found.ok) return found;
    const { tenant, session } = found.value;
    const replaced = session.holder;
    if (replaced !== null && !isGone(replaced)) {
      return fail("session_locked", { holder: describeHolder(replaced) });
    }
    const journalled = tenant.append(audit);
    if (!journalled.ok) return journalled;
    session.own(holder, tenant.nextTerm());
    const { term, manifest, record } = session;
    return ok({ term, record, manifest, slots: session.readSlots(), replaced });
  }

  async commit(key: S.SessionKey, term: number, commit: S.Commit): Promise<Result<S.Committed>> {
    const found = this.#session(key);
    if (!found.ok) return found;
    const { tenant, session } = found.value;
    const owned = session.holder !== null && session.term === term;
    return owned ? apply(tenant, session, commit) : fail("writer_lost");
  }

  async release(key: S.SessionKey, term: number) {
    const found = this.#session(key);
    if (found.ok && found.value.session.term === term) found.value.session.release();
    return DONE;
  }

  async remove(key: S.SessionKey, audit: readonly S.JournalEntry[]) {
    const found = this.#session(key);
    if (!found.ok) return found;
    const { tenant } = found.value;
    const journalled = tenant.append(audit);
    if (journalled.ok) tenant.sessions.delete(key.sessionId);
    return journalled;
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

  async tenants() {
    return ok([...this.#tenants.keys()]);
  }

  async appendJournal(tenantId: TenantId, entries: readonly S.JournalEntry[]) {
    return this.#change(tenantId, (tenant) => tenant.append(entries));
  }

  async readJournal(tenantId: TenantId, query: S.JournalQuery) {
    return ok(this.#known(tenantId).readJournal(query));
  }

  async readDocuments(tenantId: TenantId, query: DocumentQuery) {
    return ok(this.#known(tenantId).readDocuments(query));
  }

  async writeDocument(tenantId: TenantId, document: DocumentText) {
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

  #session({ tenantId, sessionId }: S.SessionKey): Result<Found> {
    const tenant = this.#known(tenantId);
    const session = tenant.sessions.get(sessionId);
    return session === undefined
      ? fail("session_not_found", { sessionId })
      : ok({ tenant, session });
  }

  #read<Value>(key: S.SessionKey, read: (session: MemorySession) => Value): Result<Value> {
    const found = this.#session(key);
    return found.ok ? ok(read(found.value.session)) : found;
  }
}

interface Found {
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

function follows(record: Place, place: Place): boolean {
  if (record.updatedAtMs !== place.updatedAtMs) return record.updatedAtMs < place.updatedAtMs;
  return record.sessionId > place.sessionId;
}

function isListed(record: S.StoredRecord, filter: S.ListFilter): boolean {
  const { statuses, text, ...equal } = filter;
  const wanted = Object.entries(equal).every(([field, value]) =>
    Object.entries(record).some(([name, own]) => name === field && own === value),
  );
  const named = record.displayName?.toLowerCase().includes((text ?? "").toLowerCase()) ?? false;
  return wanted && (text === undefined || named) && (statuses?.includes(record.status) ?? true);
}

import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { SUBMIT_TRIES_MAX, TENANT_CHANGES_WAITING_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import { KeyedMutex } from "../../platform/keyed-mutex.ts";
import type { Document, JournalEntry, SessionStore } from "../../store/store.ts";

/** What a server reads and writes of tenants beside their sessions. */
export type TenantStore = Pick<
  SessionStore,
  "readDocument" | "writeDocument" | "listDocuments" | "appendJournal" | "tenants"
>;

export interface DocumentAddress {
  readonly tenantId: TenantId;
  readonly kind: string;
  readonly key: string;
}

interface Changed<Outcome> {
  /** The new document; null deletes it. */
  readonly value: JsonObject | null;
  /** The audit entry; null if nothing changes, and then nothing is written. */
  readonly entry: JournalEntry | null;
  /** For the caller. */
  readonly outcome: Outcome;
}

/** Decides by the current document. It is called again if another process wrote meanwhile. */
type DocumentChange<Outcome> = (before: JsonObject | null) => Result<Changed<Outcome>>;

/** Changes a document while the tenant's mutex is held. */
export type LockedChange = <Outcome>(
  address: Omit<DocumentAddress, "tenantId">,
  change: DocumentChange<Outcome>,
) => Promise<Result<Outcome>>;

/** By store, so that all parts of a server that change a tenant's documents wait for each other. */
const MUTEXES = new WeakMap<TenantStore, KeyedMutex>();

/**
 * Changes a document of a tenant. The change is decided by the current document, and written
 * together with its audit entry if no other process has written since; otherwise it is decided
 * again. What cannot be audited does not happen.
 */
export function changeDocument<Outcome>(
  store: TenantStore,
  { tenantId, ...address }: DocumentAddress,
  change: DocumentChange<Outcome>,
): Promise<Result<Outcome>> {
  return withTenantMutex(store, tenantId, (changeLocked) => changeLocked(address, change));
}

/**
 * Serializes changes of a tenant's documents. Correctness does not need it, and other processes do
 * not wait; but many changes at once would conflict until some give up. Inside, change documents by
 * the given function, not by `changeDocument`, which would wait for itself.
 */
export async function withTenantMutex<Value>(
  store: TenantStore,
  tenantId: TenantId,
  act: (change: LockedChange) => Promise<Result<Value>>,
): Promise<Result<Value>> {
  const mutex = MUTEXES.get(store) ?? new KeyedMutex();
  MUTEXES.set(store, mutex);
  if (mutex.countOf(tenantId) >= TENANT_CHANGES_WAITING_MAX) return fail("server_busy");
  return mutex.run(tenantId, () =>
    act((address, change) => changeNow(store, { ...address, tenantId }, change)),
  );
}

async function changeNow<Outcome>(
  store: TenantStore,
  { tenantId, kind, key }: DocumentAddress,
  change: DocumentChange<Outcome>,
): Promise<Result<Outcome>> {
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const found = await store.readDocument(tenantId, kind, key);
    if (!found.ok) return found;
    const changed = change(found.value?.value ?? null);
    if (!changed.ok) return changed;
    const { value, entry, outcome } = changed.value;
    if (entry === null) return ok(outcome);
    const expectedVersion = found.value?.version ?? 0;
    const document = { kind, key, expectedVersion, value, entries: [entry] };
    const written = await store.writeDocument(tenantId, document);
    if (written.ok) return ok(outcome);
    if (written.refusal.code !== "document_conflict") return written;
  }
  return fail("server_busy");
}

/** All documents of a kind, of which a tenant has a limited number. */
export async function allDocuments(
  store: TenantStore,
  tenantId: TenantId,
  kind: string,
): Promise<Result<readonly Document[]>> {
  const documents: Document[] = [];
  for (let after: string | null = null; ; ) {
    const page = await store.listDocuments(tenantId, kind, after);
    if (!page.ok) return page;
    documents.push(...page.value.rows);
    after = documents.at(-1)?.key ?? null;
    if (!page.value.more || after === null) return ok(documents);
  }
}

/** Deletes documents as they were read: one that another process changes meanwhile stays. */
export async function deleteDocuments(
  store: TenantStore,
  tenantId: TenantId,
  documents: readonly Document[],
  entries: readonly JournalEntry[] = [],
): Promise<Result<void>> {
  for (const { kind, key, version } of documents) {
    const removal = { kind, key, expectedVersion: version, value: null, entries };
    const written = await store.writeDocument(tenantId, removal);
    if (!written.ok && written.refusal.code !== "document_conflict") return written;
  }
  return DONE;
}

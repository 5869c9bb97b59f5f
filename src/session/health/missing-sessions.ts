import type { SessionId, TenantId } from "../../core/id.ts";
import { PAGE_ROWS_MAX } from "../../core/limits.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { sessionPages } from "../replay.ts";

/** What is noted outside of the store: which sessions there are, and which store has them. */
export interface SessionNotes {
  tenants(): Promise<Result<readonly TenantId[]>>;
  sessionsOf(tenantId: TenantId): Promise<Result<readonly SessionId[]>>;
  /** The store that has the session; null if none has noted it. */
  find(key: SessionKey): Promise<Result<string | null>>;
  forget(key: SessionKey): Promise<Result<void>>;
}

/**
 * The sessions that are noted and that the store lacks: a database or its log was lost or cut. The
 * sessions of a tenant whose list cannot be read are not counted, because they may be there.
 */
export async function missingSessions(
  store: SessionStore,
  notes: SessionNotes,
): Promise<Result<readonly SessionKey[]>> {
  const tenants = await notes.tenants();
  if (!tenants.ok) return tenants;
  const missing: SessionKey[] = [];
  for (const tenantId of tenants.value) {
    const noted = await notes.sessionsOf(tenantId);
    if (!noted.ok) return noted;
    const left = new Set<string>(noted.value);
    const listed = await withoutListed(store, tenantId, left);
    if (!listed.ok) continue;
    for (const sessionId of noted.value) {
      const key = { tenantId, sessionId };
      if (left.has(sessionId) && (await isMissing(store, notes, key))) missing.push(key);
    }
  }
  return ok(missing);
}

async function withoutListed(
  store: SessionStore,
  tenantId: TenantId,
  left: Set<string>,
): Promise<Result<void>> {
  for await (const page of sessionPages(store, tenantId, {})) {
    if (!page.ok) return page;
    for (const { sessionId } of page.value.sessions) left.delete(sessionId);
    for (const { sessionId } of page.value.damaged) left.delete(sessionId);
  }
  return DONE;
}

/**
 * Whether a session is noted as this store's, and the store has neither it nor its deletion. A
 * server that was killed between a deletion and its note has left the note behind.
 */
export async function isMissing(
  store: SessionStore,
  notes: SessionNotes,
  key: SessionKey,
): Promise<boolean> {
  const storeId = await notes.find(key);
  if (!storeId.ok || storeId.value !== store.contract.storeId) return false;
  const record = await store.readRecord(key);
  if (record.ok || record.refusal.code !== "session_not_found") return false;
  if (!(await wasDeleted(store, key))) return true;
  await notes.forget(key);
  return false;
}

async function wasDeleted(store: SessionStore, { tenantId, sessionId }: SessionKey) {
  for (let after = 0; ; ) {
    const query = { journal: "audit", sessionId, after, limit: PAGE_ROWS_MAX } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return false;
    const { rows, more } = page.value;
    if (rows.some(({ text }) => JSON.parse(text).act === "session_deleted")) return true;
    if (!more) return false;
    after = rows.at(-1)?.seq ?? after;
  }
}

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

/** Sessions that are noted and that the store lacks. */
export interface UnknownSessions {
  /** A database or its log was lost or cut. */
  readonly missing: readonly SessionKey[];
  /** A server was killed between a deletion and its note. */
  readonly deleted: readonly SessionKey[];
}

/**
 * Compares the notes with the store. The sessions of a tenant whose list cannot be read are not
 * counted, because they may be there.
 */
export async function missingSessions(
  store: SessionStore,
  notes: SessionNotes,
): Promise<Result<UnknownSessions>> {
  const tenants = await notes.tenants();
  if (!tenants.ok) return tenants;
  const missing: SessionKey[] = [];
  const deleted: SessionKey[] = [];
  for (const tenantId of tenants.value) {
    const noted = await notes.sessionsOf(tenantId);
    if (!noted.ok) return noted;
    const left = new Set<string>(noted.value);
    const listed = await withoutListed(store, tenantId, left);
    if (!listed.ok) continue;
    for (const sessionId of noted.value) {
      const key = { tenantId, sessionId };
      if (!left.has(sessionId) || !(await isLacking(store, notes, key))) continue;
      if (await wasDeleted(store, key)) deleted.push(key);
      else missing.push(key);
    }
  }
  return ok({ missing, deleted });
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

/** Whether a session is noted as this store's, and the store does not have it. */
export async function isLacking(
  store: SessionStore,
  notes: SessionNotes,
  key: SessionKey,
): Promise<boolean> {
  const storeId = await notes.find(key);
  if (!storeId.ok || storeId.value !== store.contract.storeId) return false;
  const record = await store.readRecord(key);
  return !record.ok && record.refusal.code === "session_not_found";
}

/** Whether the last that is known of a session is its deletion: its id may have been used again. */
async function wasDeleted(store: SessionStore, { tenantId, sessionId }: SessionKey) {
  let isDeleted = false;
  for (let after = 0; ; ) {
    const query = { journal: "audit", sessionId, after, limit: PAGE_ROWS_MAX } as const;
    const page = await store.readJournal(tenantId, query);
    if (!page.ok) return false;
    const { rows, more } = page.value;
    for (const { text } of rows) {
      const act = actOf(text);
      if (act === "session_created" || act === "session_deleted") {
        isDeleted = act === "session_deleted";
      }
    }
    if (!more) return isDeleted;
    after = rows.at(-1)?.seq ?? after;
  }
}

/** Null for an entry that a damaged store has changed. */
function actOf(text: string): unknown {
  try {
    return Object(JSON.parse(text)).act;
  } catch {
    return null;
  }
}

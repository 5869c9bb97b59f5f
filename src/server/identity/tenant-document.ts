import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";

export interface DocumentPlace {
  readonly tenantId: TenantId;
  readonly kind: string;
  readonly key: string;
}

/** What a document becomes; null deletes it. The second is for whoever asked for the change. */
export interface Changed<Outcome> {
  readonly value: JsonObject | null;
  readonly outcome: Outcome;
}

/**
 * Changes a document of a tenant. The change is decided on what is there, the audit is told, and
 * then it is written, if nobody else has written since: else all is done again. What the audit
 * cannot be told does not happen.
 */
export async function changeDocument<Outcome>(
  store: SessionStore,
  { tenantId, kind, key }: DocumentPlace,
  entry: JournalEntry,
  change: (before: JsonObject | null) => Result<Changed<Outcome>>,
): Promise<Result<Outcome>> {
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const found = await store.readDocument(tenantId, kind, key);
    if (!found.ok) return found;
    const changed = change(found.value?.value ?? null);
    if (!changed.ok) return changed;
    const told = await store.appendJournal(tenantId, [entry]);
    if (!told.ok) return told;
    const expectedVersion = found.value?.version ?? 0;
    const { value, outcome } = changed.value;
    const written = await store.writeDocument(tenantId, { kind, key, expectedVersion, value });
    if (written.ok) return ok(outcome);
    if (written.refusal.code !== "document_conflict") return written;
  }
  return fail("server_busy");
}

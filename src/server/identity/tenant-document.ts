import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { SUBMIT_TRIES_MAX } from "../../core/limits.ts";
import { DONE, fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";

export interface DocumentPlace {
  readonly tenantId: TenantId;
  readonly kind: string;
  readonly key: string;
}

export interface Changed<Outcome> {
  /** What the document becomes; null deletes it. */
  readonly value: JsonObject | null;
  /** What the audit is told; null if it is as it was, and then nothing is written. */
  readonly entry: JournalEntry | null;
  /** For whoever asked for the change. */
  readonly outcome: Outcome;
}

/**
 * Changes a document of a tenant. The change is decided on what is there, the audit is told, and
 * then it is written, if nobody else has written since: else all is done again, and what is told
 * in the same words is told once. What the audit cannot be told does not happen.
 */
export async function changeDocument<Outcome>(
  store: SessionStore,
  { tenantId, kind, key }: DocumentPlace,
  change: (before: JsonObject | null) => Result<Changed<Outcome>>,
): Promise<Result<Outcome>> {
  let told: string | null = null;
  for (let tries = 0; tries < SUBMIT_TRIES_MAX; tries += 1) {
    const found = await store.readDocument(tenantId, kind, key);
    if (!found.ok) return found;
    const changed = change(found.value?.value ?? null);
    if (!changed.ok) return changed;
    const { value, entry, outcome } = changed.value;
    if (entry === null) return ok(outcome);
    const noted = entry.text === told ? DONE : await store.appendJournal(tenantId, [entry]);
    if (!noted.ok) return noted;
    told = entry.text;
    const expectedVersion = found.value?.version ?? 0;
    const written = await store.writeDocument(tenantId, { kind, key, expectedVersion, value });
    if (written.ok) return ok(outcome);
    if (written.refusal.code !== "document_conflict") return written;
  }
  return fail("server_busy");
}

import type { TenantId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { SUBMIT_TRIES_MAX, TENANT_CHANGES_WAITING_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { JournalEntry, SessionStore } from "../../store/store.ts";
import { Turnstile } from "../turnstile.ts";

export interface DocumentPlace {
  readonly tenantId: TenantId;
  readonly kind: string;
  readonly key: string;
}

interface Changed<Outcome> {
  /** What the document becomes; null deletes it. */
  readonly value: JsonObject | null;
  /** What the audit is told; null if it is as it was, and then nothing is written. */
  readonly entry: JournalEntry | null;
  /** For whoever asked for the change. */
  readonly outcome: Outcome;
}

/** Decides on what is there. It is asked again if another process was faster. */
type Change<Outcome> = (before: JsonObject | null) => Result<Changed<Outcome>>;

/** Changes a document of the tenant whose turn it is. */
export type ChangeInTurn = <Outcome>(
  place: Omit<DocumentPlace, "tenantId">,
  change: Change<Outcome>,
) => Promise<Result<Outcome>>;

/**
 * By the store that is changed, so that all parts of a server that change what is a tenant's wait
 * for each other, whoever made them.
 */
const TURNS = new WeakMap<SessionStore, Turnstile>();

/**
 * Changes a document of a tenant, in turn. The change is decided on what is there, and written
 * together with what the audit is told of it, if nobody else has written since: else all is
 * decided again, and of what did not happen nothing is told. What the audit cannot be told does
 * not happen.
 */
export function changeDocument<Outcome>(
  store: SessionStore,
  { tenantId, ...place }: DocumentPlace,
  change: Change<Outcome>,
): Promise<Result<Outcome>> {
  return inTurn(store, tenantId, (changeInTurn) => changeInTurn(place, change));
}

/**
 * Lets those who change what is a tenant's do so one after the other. They need not: nothing is
 * lost if they do not, as other processes do not. But many at once would hinder each other until
 * some give up. Inside of a turn documents are changed by what it is given, and not by
 * `changeDocument`, which would wait for the turn to end.
 */
export async function inTurn<Value>(
  store: SessionStore,
  tenantId: TenantId,
  act: (change: ChangeInTurn) => Promise<Result<Value>>,
): Promise<Result<Value>> {
  const turns = TURNS.get(store) ?? new Turnstile();
  TURNS.set(store, turns);
  if (turns.countOf(tenantId) >= TENANT_CHANGES_WAITING_MAX) return fail("server_busy");
  return turns.pass(tenantId, () =>
    act((place, change) => changeNow(store, { ...place, tenantId }, change)),
  );
}

async function changeNow<Outcome>(
  store: SessionStore,
  { tenantId, kind, key }: DocumentPlace,
  change: Change<Outcome>,
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

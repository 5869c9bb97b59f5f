import { randomUUID } from "node:crypto";
import type { UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JournalEntry } from "../../store/store.ts";

/** Who changes what may be spent: a caller, or whoever has the data directory in their hands. */
export type Treasurer =
  | { readonly kind: "client"; readonly userId: UserId | null }
  | { readonly kind: "operator" };

/** What the tenant's audit is told of such a change. One with a name is told once. */
export function auditEntry(
  act: string,
  actor: Treasurer,
  details: JsonObject,
  { atMs, name = randomUUID() }: { readonly atMs: number; readonly name?: string },
): JournalEntry {
  const text = JSON.stringify({ v: 1, act, actor, accepted: true, details });
  return { journal: "audit", key: `credits ${name}`, sessionId: null, atMs, text };
}

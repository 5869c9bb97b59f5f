import { randomUUID } from "node:crypto";
import type { UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JournalEntry } from "../../store/store.ts";

/** Who changes tokens and members: a caller, or whoever has the data directory in their hands. */
export type Steward =
  | { readonly kind: "client"; readonly userId: UserId | null }
  | { readonly kind: "operator" };

/** What the tenant's audit is told of such a change; it never has a secret in it. */
export function auditEntry(
  act: string,
  actor: Steward,
  details: JsonObject,
  atMs: number,
): JournalEntry {
  const text = JSON.stringify({ v: 1, act, actor, accepted: true, details });
  return { journal: "audit", key: `identity ${randomUUID()}`, sessionId: null, atMs, text };
}

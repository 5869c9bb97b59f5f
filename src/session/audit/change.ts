import { randomUUID } from "node:crypto";
import type { SessionId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { ChangeAct } from "./act.ts";

/** Who changes what is a tenant's: a caller, or whoever has the data directory in their hands. */
export type Steward =
  | { readonly kind: "client"; readonly userId: UserId | null }
  | { readonly kind: "operator" };

interface Change {
  readonly act: ChangeAct;
  readonly by: Steward;
  readonly details: JsonObject;
  readonly atMs: number;
  /** One with a key of its own is told once, however often it is done. */
  readonly key?: string;
  readonly sessionId?: SessionId;
}

/**
 * What the tenant's audit is told of a change that no session decides: of tokens, members,
 * credits, workspaces and agents, and by operators. It never has a secret in it.
 */
export function changeEntry(change: Change): JournalEntry {
  const { act, by, details, atMs, sessionId = null } = change;
  const text = JSON.stringify({ v: 1, act, actor: actorOf(by), accepted: true, details });
  const key = change.key ?? `change ${randomUUID()}`;
  return { journal: "audit", key, sessionId, atMs, text };
}

/** Nobody in particular is left out, as everywhere in the audit. */
function actorOf(by: Steward) {
  if (by.kind === "operator") return by;
  return { kind: by.kind, ...(by.userId !== null && { userId: by.userId }) };
}

import type { ClientId, SessionId, UserId } from "../../core/id.ts";
import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import type { JournalRow } from "../../store/store.ts";

/** An entry of the audit as it is shown, with the same fields whoever wrote it. */
export interface AuditEntry {
  readonly v: 1;
  /** Its place in the journal of its tenant. */
  readonly seq: number;
  readonly at: string;
  readonly act: string;
  readonly actor: JsonObject;
  readonly accepted: boolean;
  readonly sessionId?: SessionId;
  readonly [name: string]: unknown;
}

/** Which entries somebody wants to see; null is any. All of it has to hold. */
export interface AuditFilter {
  readonly sessionId: SessionId | null;
  /** Who did it, or wanted to. */
  readonly userId: UserId | null;
  readonly clientId: ClientId | null;
  /** One of these. */
  readonly acts: readonly string[] | null;
  readonly isAccepted: boolean | null;
  readonly fromMs: number;
  /** The first moment that is not meant any more. */
  readonly toMs: number;
}

/** Every entry there is. */
export const WHOLE_AUDIT: AuditFilter = {
  sessionId: null,
  userId: null,
  clientId: null,
  acts: null,
  isAccepted: null,
  fromMs: 0,
  toMs: Number.MAX_SAFE_INTEGER,
};

/** The entry in a row, if it is meant. Rows are of the right session: the store sees to that. */
export function meantEntry(row: JournalRow, filter: AuditFilter): AuditEntry | null {
  if (row.atMs < filter.fromMs || row.atMs >= filter.toMs) return null;
  const { acts, isAccepted, userId, clientId } = filter;
  const entry = entryOf(row);
  const { act, accepted, actor } = entry;
  const isMeant =
    (acts === null || acts.includes(act)) &&
    (isAccepted === null || accepted === isAccepted) &&
    (userId === null || actor.userId === userId) &&
    (clientId === null || actor.clientId === clientId);
  return isMeant ? entry : null;
}

function entryOf({ seq, atMs, sessionId, text }: JournalRow): AuditEntry {
  const parsed: unknown = JSON.parse(text);
  const told = isObject(parsed) ? parsed : {};
  const { v: _, act: __, actor: ___, accepted, ...more } = told;
  return {
    v: 1,
    seq,
    at: new Date(atMs).toISOString(),
    act: stringAt(told, "act") ?? "unknown",
    actor: withoutNulls(objectAt(told, "actor") ?? {}),
    // What an agent does is told before it is done; of what it did once, only that.
    accepted: accepted !== false,
    ...(sessionId !== null && { sessionId }),
    ...more,
  };
}

import { pendingCount, type Session } from "../../core/session/state.ts";
import type { SessionRecord } from "../../store/store.ts";

/** The row that lists are made of. */
export function recordOf(session: Session, updatedAtMs: number): SessionRecord {
  const { fixed, chosen, connection, closed } = session;
  return {
    workspaceCwd: fixed.workspaceCwd,
    status: connection.sessionState,
    displayName: chosen.displayName,
    parentSessionId: fixed.parentSessionId,
    sourceType: fixed.source?.type ?? null,
    sourceId: fixed.source?.id ?? null,
    closed,
    shared: fixed.scope === "single",
    pendingPrompts: pendingCount(session),
    updatedAtMs,
  };
}

/** Whether two rows say the same of a session, whenever they were written. */
export function isSameRecord(a: SessionRecord, b: SessionRecord): boolean {
  return (
    a.status === b.status &&
    a.displayName === b.displayName &&
    a.closed === b.closed &&
    a.pendingPrompts === b.pendingPrompts &&
    a.shared === b.shared
  );
}

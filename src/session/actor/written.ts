import type { Refusal } from "../../core/error.ts";
import type { LogEvent } from "../../core/replay/compact.ts";
import type { Command } from "../../core/session/command.ts";
import type { Decision } from "../../core/session/draft.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import { type FirstAnswer, type Session, workCount } from "../../core/session/state.ts";
import { nameOf } from "../../core/session/title.ts";
import { isSameAudience } from "../../core/session/visibility.ts";
import type { SessionKey, SessionRecord } from "../../store/store.ts";

/** An event with its number, and the one text of it that is stored and sent. */
export interface Written {
  readonly id: number;
  readonly event: LogEvent;
  readonly text: string;
  /** What the text weighs, for all that bound it. */
  readonly bytes: number;
}

/** Numbers events and serialises each once. */
export function writeEvents(events: readonly SessionEvent[], firstId: number): readonly Written[] {
  return events.map((event, index) => writtenAs({ id: firstId + index, ...event }));
}

/** An event with its text, which is the stored one if there is one. */
export function writtenAs(event: LogEvent, text = JSON.stringify(event)): Written {
  return { id: event.id, event, text, bytes: Buffer.byteLength(text) };
}

/** What a command comes to, with its events as they are stored. */
export interface Decided {
  readonly decision: Decision;
  readonly written: readonly Written[];
  /** A secret was found in it, and is gone. */
  readonly isRedacted: boolean;
}

/** What a command came to, told when everything that it rests on is durable (P1). */
export interface Outcome {
  readonly refusal: Refusal | null;
  readonly answer: FirstAnswer | null;
  /** Whether it has changed anything, and what. */
  readonly isNews: boolean;
  readonly events: readonly SessionEvent[];
  readonly lastEventId: number;
}

export function outcomeOf(
  decision: Decision,
  failure: Refusal | null,
  lastEventId: number,
): Outcome {
  const why = decision.kind === "refused" ? decision.refusal : null;
  const answer = decision.kind === "accepted" ? (decision.answer ?? null) : null;
  const events = failure === null ? decision.events : [];
  return { refusal: failure ?? why, answer, isNews: events.length > 0, events, lastEventId };
}

/** Which events a command led to, and on whose behalf: the log of requests goes on here. */
export function traceOf(
  { sessionId }: Pick<SessionKey, "sessionId">,
  { type }: Command,
  decision: Decision,
  lastEventId: number,
) {
  const { kind, events } = decision;
  const why = decision.kind === "refused" ? { code: decision.refusal.code } : {};
  return { sessionId, command: type, decision: kind, ...why, events: events.length, lastEventId };
}

/** What the session was told of a change, if the command has made one. */
export function changeIn<Type extends EventType>(
  { events }: Pick<Outcome, "events">,
  type: Type,
): SessionEvent<Type>["data"] | null {
  const isOfType = (event: SessionEvent): event is SessionEvent<Type> & SessionEvent =>
    event.type === type;
  return events.find(isOfType)?.data ?? null;
}

/** The row that lists are made of. */
export function recordOf(session: Session, updatedAtMs: number): SessionRecord {
  const { fixed, chosen, connection, closed } = session;
  return {
    workspaceCwd: fixed.workspaceCwd,
    status: connection.sessionState,
    displayName: nameOf(session),
    name: chosen.name ?? null,
    parentSessionId: fixed.parentSessionId,
    sourceType: fixed.source?.type ?? null,
    sourceId: fixed.source?.id ?? null,
    closed,
    shared: fixed.scope === "single",
    pendingPrompts: workCount(session),
    agent: chosen.activeAgent,
    createdBy: fixed.createdBy ?? null,
    audience: chosen.audience ?? null,
    updatedAtMs,
  };
}

/** A name may have become a secret since it was given, and is then not written again (P11). */
export function withoutSecrets(
  record: SessionRecord,
  redact: (text: string) => string,
): SessionRecord {
  const { displayName, name } = record;
  const isSecret = name !== null && redact(name) !== name;
  const shown = { displayName: displayName && redact(displayName), name: isSecret ? null : name };
  return { ...record, ...shown };
}

/** Whether two rows say the same of a session, whenever they were written. */
export function isSameRecord(a: SessionRecord, b: SessionRecord): boolean {
  return (
    a.status === b.status &&
    a.displayName === b.displayName &&
    a.name === b.name &&
    a.agent === b.agent &&
    a.closed === b.closed &&
    a.pendingPrompts === b.pendingPrompts &&
    a.shared === b.shared &&
    isSameAudience(a.audience, b.audience)
  );
}

/** Whether these end with a snapshot. */
export function isPersisted(written: readonly Written[]): boolean {
  return written.some(
    ({ event }) => event.type === "session_lifecycle" && event.data.event === "SessionPersisted",
  );
}

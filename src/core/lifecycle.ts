import { type Refusal, refusal } from "./error.ts";

/**
 * Where is the session relative to its last durable snapshot?
 *
 * - `Idle`: created and accepted by the store, no turn yet.
 * - `Active`: working on a turn.
 * - `Persisted`: the last snapshot is durable. Safe to leave.
 * - `Resumed`: brought back from a snapshot, no turn since.
 * - `Closed`: the live instance has ended. The stored record has not: it can be resumed.
 */
export type Phase = (typeof PHASES)[number];

export const PHASES = ["Idle", "Active", "Persisted", "Resumed", "Closed"] as const;

export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

export const LIFECYCLE_EVENTS = [
  "SessionStarted",
  "SessionTurnStart",
  "SessionTurnEnd",
  "SessionPersisted",
  "SessionResumeStarted",
  "SessionResumed",
  "SessionClosed",
] as const;

/** Before its first event a session has no phase. */
export type PhaseBefore = Phase | "none";

/**
 * The phase each event leads to; `null` is `Session/IllegalTransition`. `SessionTurnEnd` leaves
 * `Active` as it is, because only the snapshot that follows makes the turn safe. `SessionResumed`
 * comes with the first turn after a resume, just before that turn's `SessionTurnStart`.
 */
// biome-ignore format: a table is read by its columns
export const PHASE_AFTER: Readonly<
  Record<PhaseBefore, Readonly<Record<LifecycleEvent, Phase | null>>>
> = {
  //               Started TurnStart TurnEnd   Persisted    ResumeStarted Resumed   Closed
  none:      after("Idle", null,     null,     null,        null,         null,     null),
  Idle:      after(null,   "Active", null,     null,        null,         null,     "Closed"),
  Active:    after(null,   "Active", "Active", "Persisted", null,         null,     "Closed"),
  Persisted: after(null,   "Active", null,     null,        "Resumed",    null,     "Closed"),
  Resumed:   after(null,   null,     null,     null,        null,         "Active", "Closed"),
  Closed:    after(null,   null,     null,     null,        "Resumed",    null,     null),
};

/** The next phase, or the refusal that names the phase and the event; the phase then stays. */
export function applyLifecycleEvent(before: PhaseBefore, event: LifecycleEvent): Phase | Refusal {
  return (
    PHASE_AFTER[before][event] ?? refusal("illegal_transition", { state: before, trigger: event })
  );
}

function after(
  SessionStarted: Phase | null,
  SessionTurnStart: Phase | null,
  SessionTurnEnd: Phase | null,
  SessionPersisted: Phase | null,
  SessionResumeStarted: Phase | null,
  SessionResumed: Phase | null,
  SessionClosed: Phase | null,
) {
  return {
    SessionStarted,
    SessionTurnStart,
    SessionTurnEnd,
    SessionPersisted,
    SessionResumeStarted,
    SessionResumed,
    SessionClosed,
  };
}

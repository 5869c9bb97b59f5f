/**
 * Is there an agent, and what is it doing? The table below is the only definition of
 * legality in the product: what it does not list is refused, logged and changes nothing.
 *
 * - `inactive`: no agent. Where a session begins, rests, and is after recovery.
 * - `activating`: an agent is being started or attached; always short-lived.
 * - `ready`: the agent is idle, a turn may start.
 * - `running`: a turn is at work and holds an open reservation.
 * - `waiting`: the agent asked people; the reservation stays open.
 * - `deactivating`: the agent is being taken down.
 * - `error`: the agent is in an unknown condition. Only a reset or a fresh activation leads on.
 */
export type SessionState = (typeof SESSION_STATES)[number];

export const SESSION_STATES = [
  "inactive",
  "activating",
  "ready",
  "running",
  "waiting",
  "deactivating",
  "error",
] as const;

export const VALID_TRANSITIONS: Readonly<Record<SessionState, ReadonlySet<SessionState>>> = {
  inactive: new Set(["activating"]),
  activating: new Set(["ready", "error", "inactive"]),
  ready: new Set(["running", "deactivating", "inactive", "error"]),
  running: new Set(["ready", "waiting", "error", "deactivating"]),
  waiting: new Set(["running", "error", "deactivating"]),
  deactivating: new Set(["inactive", "error"]),
  error: new Set(["inactive", "activating"]),
};

/** What an agent can be seen to do. It is another vocabulary than the states, and never mixed. */
export type AgentStatus = (typeof AGENT_STATUSES)[number];

export const AGENT_STATUSES = [
  "created",
  "connected",
  "turn_started",
  "turn_complete",
  "turn_error",
  "question_requested",
  "approval_resolved",
  "terminating",
  "terminated",
  "error",
] as const;

/** Where each agent status points. Only a turn's error depends on where the session is. */
const TARGETS: Readonly<Record<AgentStatus, (current: SessionState) => SessionState>> = {
  created: () => "activating",
  connected: () => "ready",
  turn_started: () => "running",
  turn_complete: () => "ready",
  turn_error: (current) => (hasTurn(current) ? "ready" : "error"),
  question_requested: () => "waiting",
  approval_resolved: () => "running",
  terminating: () => "deactivating",
  terminated: () => "inactive",
  error: () => "error",
};

/** The next state, or null where the table has no edge. */
export function applySessionTransition(
  current: SessionState,
  agentStatus: AgentStatus,
): SessionState | null {
  const next = TARGETS[agentStatus](current);
  return VALID_TRANSITIONS[current].has(next) ? next : null;
}

/** The guard in front of every change of state; `decide` has no other way to make one. */
export function transitionSessionState(
  current: SessionState,
  next: SessionState,
): "changed" | "unchanged" | "illegal" {
  if (current === next) return "unchanged";
  return VALID_TRANSITIONS[current].has(next) ? "changed" : "illegal";
}

/** A turn is open, with its reservation, in exactly these two states. */
export function hasTurn(state: SessionState): boolean {
  return state === "running" || state === "waiting";
}

/** The older model's words, read for ever and never written. */
const LEGACY_STATES: ReadonlyMap<string, SessionState> = new Map([
  ["idle", "inactive"],
  ["awaiting_question", "waiting"],
]);

/** A current value passes unchanged: translating it again would turn `ready` into `inactive`. */
export function migrateLegacyStatus(stored: string): SessionState {
  return (
    SESSION_STATES.find((state) => state === stored) ?? LEGACY_STATES.get(stored) ?? "inactive"
  );
}

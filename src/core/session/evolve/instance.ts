import type { LifecycleEvent } from "../../lifecycle.ts";
import { approvalMeaning } from "../../policy/risk.ts";
import { hasTurn } from "../../status.ts";
import { EMPTY_TURN } from "../../turn.ts";
import { type SessionEvent, stampOf } from "../event.ts";
import { isEndReason } from "../reason.ts";
import type { Session } from "../state.ts";
import { audienceOf } from "../visibility.ts";

export function created(event: SessionEvent<"session_created">): Session {
  const { data, originatorUserId: createdBy } = event;
  const { autonomyProfile, activeAgent, modelConfig, skills, persona, ...rest } = data.creation;
  const { approvalMode, agentMode = null, displayName, name, ...budgeted } = rest;
  const { budgetMicro, monthBudgetMicro, ...shared } = budgeted;
  const { visibility = "tenant", sharedWith = [], ...fixed } = shared;
  const audience = audienceOf({ visibility, sharedWith }, createdBy);
  const titleSource = displayName === null ? null : "manual";
  const meaning = approvalMeaning(approvalMode);
  return {
    sessionId: data.sessionId,
    fixed: {
      ...fixed,
      createdAtMs: event._meta.serverTimestamp,
      ...(createdBy && { createdBy }),
    },
    chosen: {
      activeAgent,
      modelConfig,
      skills,
      persona,
      approvalMode,
      displayName,
      titleSource,
      ...(name !== undefined && { name }),
      currentCwd: fixed.workspaceCwd,
      budgetMicro,
      ...(monthBudgetMicro !== undefined && { monthBudgetMicro }),
      ...(audience && { audience }),
    },
    phase: "none",
    connection: {
      turn: EMPTY_TURN,
      sessionState: "inactive",
      sessionGrants: new Map(),
      autonomyProfile: autonomyProfile ?? meaning.autonomyProfile,
      agentMode: meaning.agentMode ?? agentMode,
      sandboxState: "none",
      sandboxProvisionedAt: null,
      lastSandboxActivity: null,
    },
    running: null,
    queue: [],
    clients: new Map(),
    admissions: new Map(),
    voidGrants: [],
    resolvedAsks: new Map(),
    shellContext: [],
    shells: new Map(),
    activation: 0,
    ending: null,
    closed: false,
    agentSessionId: null,
    agentUntold: true,
    instructed: null,
    surroundings: null,
    lastTurnError: null,
    lastVerdictAtMs: null,
    totals: {
      promptCount: 0,
      turnsCompleted: 0,
      turnsFailed: 0,
      toolCalls: 0,
      toolFailures: 0,
      chargedMicro: 0,
      tokensByModel: new Map(),
    },
  };
}

/** Leaving the two states that have a turn is the turn's boundary: it is settled by now. */
export function statusChanged(session: Session, event: SessionEvent<"session_status">): Session {
  const { to, cause } = event.data;
  const left = hasTurn(session.connection.sessionState) && !hasTurn(to);
  const turn = left ? EMPTY_TURN : session.connection.turn;
  const ends = to === "deactivating" && isEndReason(cause);
  const { originatorClientId: closedBy = null, originatorUserId: user } = event;
  return {
    ...session,
    connection: { ...session.connection, turn, sessionState: to },
    ending: ends
      ? { reason: cause, closedBy, ...(user && { closedByUser: user }) }
      : session.ending,
    activation: event.data.activation ?? session.activation,
  };
}

export function phaseChanged(session: Session, event: SessionEvent<"session_lifecycle">): Session {
  const { event: name, to: phase } = event.data;
  const after = { ...session, phase };
  return Object.hasOwn(PHASE_EFFECTS, name) ? PHASE_EFFECTS[name](after, event) : after;
}

type PhaseEffect = (session: Session, event: SessionEvent<"session_lifecycle">) => Session;

const nothing: PhaseEffect = (session) => session;

/** What a lifecycle event changes besides the phase. */
const PHASE_EFFECTS: Readonly<Record<LifecycleEvent, PhaseEffect>> = {
  SessionStarted: nothing,
  SessionTurnStart: turnStarted,
  SessionTurnEnd: nothing,
  SessionPersisted: nothing,
  SessionResumeStarted: (session) => ({ ...session, closed: false }),
  SessionResumed: nothing,
  SessionClosed: instanceEnded,
};

/**
 * What was live is gone with the instance: grants and the sandbox. After a failed
 * store the agent knows things that the log does not, so its side is not resumed either.
 */
function instanceEnded(session: Session, { data }: SessionEvent<"session_lifecycle">): Session {
  return {
    ...session,
    ending: null,
    agentSessionId: data.reason === "store_failure" ? null : session.agentSessionId,
    connection: {
      ...session.connection,
      sessionGrants: new Map(),
      sandboxState: "none",
      sandboxProvisionedAt: null,
      lastSandboxActivity: null,
    },
  };
}

function turnStarted(session: Session, event: SessionEvent<"session_lifecycle">): Session {
  const { turnId, promptId, slash = null, told = [] } = event.data;
  const prompt = session.queue.find((waiting) => waiting.promptId === promptId);
  if (prompt === undefined || turnId === undefined) return session;
  return {
    ...session,
    queue: session.queue.filter((waiting) => waiting !== prompt),
    running: {
      ...prompt,
      turnId,
      startedAtMs: event._meta.serverTimestamp,
      stopCause: null,
      stopAskedAtMs: null,
      steeredIds: [],
      shellContext: [...session.shellContext, ...told.map(({ text }) => text)],
      permits: [],
      stamp: stampOf(prompt.promptId, prompt),
      slash,
    },
    // A tool's turn is the server's own: the agent hears nothing of it.
    agentUntold: session.agentUntold && slash === "tool",
    shellContext: [],
    lastTurnError: null,
    connection: { ...session.connection, turn: { ...EMPTY_TURN, turnId } },
  };
}

/** An agent that begins anew has no instructions yet. */
export function agentConnected(session: Session, event: SessionEvent<"agent_connected">): Session {
  const { agentSessionId, context, surroundings = null, epoch, usualMode, offer } = event.data;
  const remembers = context === "resumed" || context === "loaded";
  const instructed = remembers ? session.instructed : null;
  const agentUntold = !remembers || session.agentUntold;
  const side = {
    agentSessionId,
    ...(epoch !== undefined && { agentEpoch: epoch }),
    ...(usualMode !== undefined && { agentUsualMode: usualMode }),
    ...(offer !== undefined && { agentOffer: offer }),
  };
  return { ...session, ...side, agentUntold, instructed, surroundings };
}

export function offered(session: Session, event: SessionEvent<"agent_offer">): Session {
  return { ...session, agentOffer: event.data.offer };
}

export function instructed(session: Session, event: SessionEvent<"instructions_sent">): Session {
  const { skills, persona } = event.data;
  return { ...session, instructed: { skills, persona } };
}

export function closed(session: Session): Session {
  return { ...session, closed: true };
}

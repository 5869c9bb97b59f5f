import { isObject, type JsonObject, objectAt, stringAt, withoutNulls } from "../../core/json.ts";
import type { Ask, AskOption } from "../../core/policy/ask.ts";
import { pendingCount, type Session } from "../../core/session/state.ts";
import { nameOf } from "../../core/session/title.ts";
import type { StoredRecord } from "../../store/store.ts";
import type {
  InteractionOption,
  ListedAsk,
  LiveSummary,
  PendingInteraction,
  SeenClient,
  SessionSummary,
} from "../../wire/session-summary.ts";
import type { LiveSession } from "../live.ts";

export function summaryOfLive(live: LiveSession): LiveSummary {
  const { session, writtenAtMs } = live;
  const { fixed, chosen, closed, lastTurnError } = session;
  const pending = pendingInteractions(session);
  const source = { sourceType: fixed.source?.type ?? null, sourceId: fixed.source?.id ?? null };
  return {
    sessionId: session.sessionId,
    workspaceCwd: fixed.workspaceCwd,
    createdAt: isoTime(fixed.createdAtMs),
    updatedAt: isoTime(Math.max(writtenAtMs, session.lastVerdictAtMs ?? fixed.createdAtMs)),
    ...named({ displayName: nameOf(session), name: chosen.name ?? null }),
    ...named({ parentSessionId: fixed.parentSessionId, ...source }),
    ...named({ agent: chosen.activeAgent, createdBy: fixed.createdBy ?? null }),
    clientCount: closed ? 0 : live.present().length,
    hasActivePrompt: pendingCount(session) > 0,
    status: session.connection.sessionState,
    ...(closed && { closed }),
    isWaitingForPermission: pending.some(({ kind }) => kind === "permission"),
    isWaitingForUserQuestion: pending.some(({ kind }) => kind === "user_question"),
    pendingInteractionCount: pending.length,
    pendingInteractions: pending,
    hasTurnError: lastTurnError !== null,
    ...(lastTurnError && { turnError: lastTurnError }),
  };
}

/**
 * Summarizes a session that is only stored. What its record calls running was interrupted, and
 * waits until a client opens it: so it does not claim to run (P5).
 */
export function summaryOfStored(record: StoredRecord): SessionSummary {
  const { sessionId, workspaceCwd, status, closed } = record;
  const { displayName, name, parentSessionId, sourceType, sourceId } = record;
  const { agent, createdBy } = record;
  return {
    sessionId,
    workspaceCwd,
    createdAt: isoTime(record.createdAtMs),
    updatedAt: isoTime(record.updatedAtMs),
    ...named({ displayName, name, parentSessionId, sourceType, sourceId }),
    ...named({ agent, createdBy }),
    clientCount: 0,
    hasActivePrompt: false,
    status: status === "error" ? "error" : "inactive",
    ...(closed && { closed }),
  };
}

export function seenClients(live: LiveSession): readonly SeenClient[] {
  return live.present().map((clientId) => {
    return { clientId, lastSeenAt: live.attendance.seenMs(clientId) ?? live.attendance.openedMs };
  });
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Leaves out nulls: on the wire, a missing field means none. */
function named<Value extends string>(
  fields: Readonly<Record<string, Value | null>>,
): Readonly<Record<string, Value>> {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
  return Object.fromEntries(given);
}

export function pendingInteractions({ connection }: Session): readonly PendingInteraction[] {
  return [...connection.turn.openAsks.values()].map(interactionOf);
}

export function openAsksOf(session: Session): readonly ListedAsk[] {
  const { sessionId, fixed } = session;
  const about = { sessionId, workspaceCwd: fixed.workspaceCwd };
  const called = named({ displayName: nameOf(session), name: session.chosen.name ?? null });
  return pendingInteractions(session).map((ask) => ({ ...about, ...called, ...ask }));
}

function interactionOf(ask: Ask): PendingInteraction {
  const { requestId, toolCall } = ask;
  const createdAt = new Date(ask.askedAtMs).toISOString();
  const base = { requestId, createdAt, options: ask.options.map(optionOf) };
  if (ask.kind === "permission") return { ...base, kind: "permission", action: actionOf(toolCall) };
  const title = stringAt(toolCall, "title");
  const questions = questionsOf(toolCall);
  return { ...base, kind: "user_question", ...(title && { title }), questions };
}

function optionOf(option: AskOption): InteractionOption {
  const label = stringAt(option, "name");
  const kind = stringAt(option, "kind");
  return { optionId: option.optionId, ...(label && { label }), ...(kind && { kind }) };
}

function actionOf({ kind, title, content, locations, rawInput }: JsonObject): JsonObject {
  const action = { type: kind, title, content, locations, input: rawInput };
  return withoutNulls(action);
}

/** Numbers the questions of agents that give them no keys. */
function questionsOf(toolCall: JsonObject): readonly JsonObject[] {
  const questions = objectAt(toolCall, "rawInput")?.questions;
  if (!Array.isArray(questions)) return [];
  return questions.map((question, index) => {
    const about = isObject(question) ? question : {};
    return { ...about, answerKey: stringAt(about, "answerKey") ?? `${index}` };
  });
}

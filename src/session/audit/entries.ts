import { randomUUID } from "node:crypto";
import type { Refusal } from "../../core/error.ts";
import type { PromptId, SessionId, TurnId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Actor, type Command, SERVER } from "../../core/session/command.ts";
import type { Decision } from "../../core/session/draft.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import type { JournalEntry } from "../../store/store.ts";
import { auditedDetails, type ChangeAct, type Details } from "./audited.ts";

/** A decision, and what is needed to name its entries. */
export interface Audited {
  readonly sessionId: SessionId;
  /**
   * The identity of the log. With an event's id it names the event for ever: ids alone come back
   * when a log is cut short, or when a session is made again under the name of a deleted one.
   */
  readonly epoch: string;
  readonly command: Command;
  readonly decision: Decision;
  /** The number that the decision's first event has or would have. */
  readonly firstEventId: number;
  /** The revision that the decision's snapshot will be, if it ends in one. */
  readonly revision: number | null;
}

const NO_ENTRIES: readonly JournalEntry[] = [];

/**
 * What the events of a decision leave in the tenant's audit journal, to be committed with them: an
 * entry for each that is worth one. The same decision gives the same entries, so that a commit can
 * be repeated. An agent's chunk of text costs one look at a table.
 */
export function auditEntries(audited: Audited): readonly JournalEntry[] {
  return audited.decision.events.flatMap((event, index) => eventEntries(audited, event, index));
}

function eventEntries(
  audited: Audited,
  event: SessionEvent,
  index: number,
): readonly JournalEntry[] {
  const { sessionId, epoch, command, decision, firstEventId } = audited;
  const told = auditedDetails(event, command);
  if (told === null) return NO_ENTRIES;
  const eventId = firstEventId + index;
  const about = { eventId, ...verdictOn(decision), ...namesIn(event) };
  const details = { ...told, ...revisionOf(audited, event) };
  const actor = doerOf(event, command);
  const text = entryText({ act: event.type, command, actor, about, details });
  return [entry(sessionId, `${sessionId} ${epoch} event ${eventId}`, command, text)];
}

/** `SessionPersisted` is the commit itself, so it says what revision it made. */
function revisionOf({ revision }: Audited, event: SessionEvent): Details {
  if (event.type !== "session_lifecycle" || revision === null) return {};
  return event.data.event === "SessionPersisted" ? { revision } : {};
}

interface Refused extends Pick<Audited, "sessionId" | "epoch" | "command"> {
  readonly refusal: Refusal;
  /** Names this refusal among all of the session, also after a restart. */
  readonly number: string;
  readonly details: Details;
}

/** What is left of a refusal that has no event of its own. */
export function refusalEntry(refused: Refused): JournalEntry {
  const { sessionId, epoch, command, refusal, number, details } = refused;
  const about = { accepted: false, code: refusal.code, ...namesInCommand(command) };
  const { actor } = command;
  const text = entryText({ act: "command_refused", command, actor, about, details });
  return entry(sessionId, `${sessionId} ${epoch} refused ${number}`, command, text);
}

/** These are told when they are done, by the server or by an agent that has gone. */
const ASKED_FOR: ReadonlySet<EventType> = new Set([
  "session_closed",
  "session_branched",
  "skills_reloaded",
  "persona_reloaded",
  "active_agent_changed",
]);

/** Who did it: whoever gave the command, or for whom it was given. */
function doerOf(event: SessionEvent, { type, actor }: Command): Actor {
  if (actor.kind === "client" || !ASKED_FOR.has(event.type)) return actor;
  const { originatorClientId: clientId = null, originatorUserId: userId = null } = event;
  // Only clients close a session for everybody, and one of them may have no name.
  const isClosed = event.type === "session_closed" && type !== "close";
  if (clientId === null && userId === null && !isClosed) return actor;
  return { kind: "client", clientId, userId, loopback: false };
}

/** A snapshot between turns has no event of its own, and is a commit like any other. */
export function checkpointEntry(
  at: Pick<Audited, "sessionId" | "epoch"> & { readonly revision: number; readonly atMs: number },
): JournalEntry {
  const { sessionId, epoch, revision, atMs } = at;
  const actor = SERVER;
  const text = { v: 1, act: "checkpoint", actor, accepted: true, details: { revision } };
  const key = `${sessionId} ${epoch} revision ${revision}`;
  return entry(sessionId, key, { atMs }, JSON.stringify(text));
}

/** The session is gone with all its events, so this is the last that is known of it. */
export function deletionEntry(
  at: Pick<Audited, "sessionId" | "epoch"> & { readonly actor: Actor; readonly atMs: number },
): JournalEntry {
  const { sessionId, epoch, atMs } = at;
  const actor = actorOf(at.actor);
  const text = { v: 1, act: "session_deleted", actor, accepted: true, details: {} };
  return entry(sessionId, `${sessionId} ${epoch} deleted`, { atMs }, JSON.stringify(text));
}

function entry(
  sessionId: SessionId,
  key: string,
  { atMs }: Pick<Command, "atMs">,
  text: string,
): JournalEntry {
  return { journal: "audit", key, sessionId, atMs, text };
}

/** Something that an agent does in the world, as told before it is done. */
export function actEntry(told: {
  readonly sessionId: SessionId;
  readonly number: string;
  readonly atMs: number;
  readonly act: string;
  readonly details: JsonObject;
}): JournalEntry {
  const { sessionId, number, atMs, act, details } = told;
  const actor = { kind: "agent" };
  const text = JSON.stringify({ v: 1, act, actor, accepted: true, details });
  return { journal: "audit", key: `${sessionId} act ${number}`, sessionId, atMs, text };
}

interface Names {
  readonly promptId?: PromptId;
  readonly turnId?: TurnId;
}

interface About extends Names {
  readonly eventId?: number;
  readonly accepted: boolean;
  readonly code?: string;
}

/** The one shape of an entry. */
function entryText(told: {
  readonly act: string;
  readonly command: Command;
  readonly actor: Actor;
  readonly about: About;
  readonly details: Details;
}): string {
  const { act, command, about, details } = told;
  const status = command.type === "agent_status" ? { agentStatus: command.status } : {};
  const actor = actorOf(told.actor);
  return JSON.stringify({ v: 1, act, cause: command.type, ...status, actor, ...about, details });
}

function actorOf(actor: Actor) {
  if (actor.kind !== "client") return actor;
  const { kind, clientId, userId } = actor;
  return { kind, ...(clientId && { clientId }), ...(userId && { userId }) };
}

function verdictOn(decision: Decision): About {
  if (decision.kind === "accepted") return { accepted: true };
  return { accepted: false, code: decision.refusal.code };
}

function namesIn({ promptId: stamped, data }: SessionEvent): Names {
  const promptId = stamped ?? ("promptId" in data ? data.promptId : undefined);
  const turnId = "turnId" in data ? data.turnId : undefined;
  return { ...(promptId && { promptId }), ...(turnId && { turnId }) };
}

function namesInCommand(command: Command): Names {
  const promptId = "promptId" in command ? command.promptId : undefined;
  const turnId = "turnId" in command ? command.turnId : undefined;
  return { ...(promptId && { promptId }), ...(turnId && { turnId }) };
}

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
  const text = JSON.stringify({ v: 1, act, actor: stewardActor(by), accepted: true, details });
  const key = change.key ?? `change ${randomUUID()}`;
  return { journal: "audit", key, sessionId, atMs, text };
}

/** Nobody in particular is left out, as everywhere in the audit. */
function stewardActor(by: Steward) {
  if (by.kind === "operator") return by;
  return { kind: by.kind, ...(by.userId !== null && { userId: by.userId }) };
}

import { randomUUID } from "node:crypto";
import type { Refusal } from "../../core/error.ts";
import type { PromptId, SessionId, TurnId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { type Actor, type Command, SERVER } from "../../core/session/command.ts";
import type { Decision } from "../../core/session/draft.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import type { JournalEntry } from "../../store/store.ts";
import { type AuditDetails, auditedDetails, type ChangeAct } from "./audited.ts";

/** A decision, and what is needed to name its entries. */
export interface AuditedDecision {
  readonly sessionId: SessionId;
  /**
   * The identity of the log. With an event's id it names the event for ever: ids alone come back
   * when a log is cut short, or when a session is created under the name of a deleted one.
   */
  readonly epoch: string;
  readonly command: Command;
  readonly decision: Decision;
  /** The id that the decision's first event has or would have. */
  readonly firstEventId: number;
  /** The revision that the decision's snapshot will be, if it ends in one. */
  readonly revision: number | null;
}

/**
 * Returns what the events of a decision leave in the tenant's audit journal, to be committed with
 * them. The same decision gives the same entries, so that a commit can be repeated. An agent's
 * chunk of text costs one look at a table.
 */
export function auditEntries(audited: AuditedDecision): readonly JournalEntry[] {
  const { sessionId, epoch, command, decision, firstEventId, revision } = audited;
  return decision.events.flatMap((event, index) => {
    const known = auditedDetails(event, command);
    if (known === null) return [];
    const eventId = firstEventId + index;
    // `SessionPersisted` is the commit itself, so it says what revision it made.
    const isPersisted =
      event.type === "session_lifecycle" && event.data.event === "SessionPersisted";
    return entry({
      sessionId,
      key: `${sessionId} ${epoch} event ${eventId}`,
      atMs: command.atMs,
      act: event.type,
      command,
      actor: actorBehind(event, command),
      facts: { eventId, ...verdictOf(decision), ...idsInEvent(event) },
      details: isPersisted && revision !== null ? { ...known, revision } : known,
    });
  });
}

/** Returns the entry of a refusal that left no event. */
export function refusalEntry(
  { sessionId, epoch, command }: Pick<AuditedDecision, "sessionId" | "epoch" | "command">,
  refused: {
    readonly refusal: Refusal;
    /** Names this refusal among all of the session, also after a restart. */
    readonly number: string;
    readonly details: AuditDetails;
  },
): JournalEntry {
  const promptId = "promptId" in command ? command.promptId : undefined;
  const turnId = ("turnId" in command && command.turnId) || undefined;
  return entry({
    sessionId,
    key: `${sessionId} ${epoch} refused ${refused.number}`,
    atMs: command.atMs,
    act: "command_refused",
    command,
    actor: command.actor,
    facts: { accepted: false, code: refused.refusal.code, promptId, turnId },
    details: refused.details,
  });
}

interface SessionMoment extends Pick<AuditedDecision, "sessionId" | "epoch"> {
  readonly atMs: number;
}

/** Returns the entry of a snapshot between turns, a commit that has no event of its own. */
export function checkpointEntry(at: SessionMoment & { readonly revision: number }): JournalEntry {
  const { sessionId, epoch, atMs, revision } = at;
  const key = `${sessionId} ${epoch} revision ${revision}`;
  return entry({ sessionId, key, atMs, act: "checkpoint", actor: SERVER, details: { revision } });
}

/** Returns the last that is known of a session: its events are deleted with it. */
export function deletionEntry(at: SessionMoment & { readonly actor: Actor }): JournalEntry {
  const { sessionId, epoch, atMs, actor } = at;
  const key = `${sessionId} ${epoch} deleted`;
  return entry({ sessionId, key, atMs, act: "session_deleted", actor, details: {} });
}

/** Returns the entry of what an agent does in the world, written before it is done. */
export function actEntry(
  act: Pick<EntryFields, "act" | "details" | "atMs"> & {
    readonly sessionId: SessionId;
    readonly number: string;
  },
): JournalEntry {
  const { sessionId, number, ...fields } = act;
  return entry({ ...fields, sessionId, key: `${sessionId} act ${number}`, actor: AGENT_ACTOR });
}

const AGENT_ACTOR = { kind: "agent" } as const;

/** Who changes what is a tenant's: a caller, or an operator with access to the data directory. */
export type Steward =
  | { readonly kind: "client"; readonly userId: UserId | null }
  | { readonly kind: "operator" };

/**
 * Returns the entry of a change that no session decides: of tokens, members, credits, workspaces
 * and agents, and by operators. It never holds a secret.
 */
export function changeEntry(
  change: Pick<EntryFields, "details" | "atMs"> & {
    readonly act: ChangeAct;
    readonly by: Steward;
    /** A change with a key of its own is entered once, however often it is made. */
    readonly key?: string;
    readonly sessionId?: SessionId;
  },
): JournalEntry {
  const { by: actor, key = `change ${randomUUID()}`, sessionId = null, ...fields } = change;
  return entry({ ...fields, sessionId, key, actor });
}

interface EntryFields {
  readonly sessionId: SessionId | null;
  readonly key: string;
  readonly atMs: number;
  readonly act: string;
  readonly command?: Command;
  readonly actor: Actor | Steward | typeof AGENT_ACTOR;
  readonly facts?: EntryFacts;
  readonly details: JsonObject;
}

interface EntryFacts {
  readonly eventId?: number;
  readonly accepted: boolean;
  readonly code?: string;
  readonly promptId?: PromptId | undefined;
  readonly turnId?: TurnId | undefined;
}

/** Writes the one shape of an entry. What is undefined is left out of it. */
function entry(fields: EntryFields): JournalEntry {
  const { sessionId, key, atMs, act, command, facts = { accepted: true }, details } = fields;
  const agentStatus = command?.type === "agent_status" ? command.status : undefined;
  const actor = actorFields(fields.actor);
  const cause = command?.type;
  const text = JSON.stringify({ v: 1, act, cause, agentStatus, actor, ...facts, details });
  return { journal: "audit", key, sessionId, atMs, text };
}

/** Leaves out the ids that a client does not have. */
function actorFields(actor: EntryFields["actor"]): object {
  if (actor.kind !== "client") return actor;
  const clientId = ("clientId" in actor && actor.clientId) || undefined;
  return { kind: actor.kind, clientId, userId: actor.userId || undefined };
}

/** The server, or an agent that has exited, writes these when they are done. */
const REQUESTED: ReadonlySet<EventType> = new Set([
  "session_closed",
  "session_branched",
  "skills_reloaded",
  "persona_reloaded",
  "active_agent_changed",
]);

/** Returns who gave the command, or the client for whom the server gave it. */
function actorBehind(event: SessionEvent, { type, actor }: Command): Actor {
  if (actor.kind === "client" || !REQUESTED.has(event.type)) return actor;
  const { originatorClientId: clientId = null, originatorUserId: userId = null } = event;
  // Only clients close a session for all its clients, and such a client may have no id.
  const isClosed = event.type === "session_closed" && type !== "close";
  if (clientId === null && userId === null && !isClosed) return actor;
  return { kind: "client", clientId, userId, loopback: false };
}

function verdictOf(decision: Decision): EntryFacts {
  if (decision.kind === "accepted") return { accepted: true };
  return { accepted: false, code: decision.refusal.code };
}

function idsInEvent({ promptId: stamped, data }: SessionEvent) {
  const promptId = stamped ?? ("promptId" in data ? data.promptId : undefined);
  const turnId = "turnId" in data ? data.turnId : undefined;
  return { promptId, turnId };
}

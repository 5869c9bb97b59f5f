import { randomUUID } from "node:crypto";
import type { ErrorCode, Refusal } from "../../core/error.ts";
import type { PromptId, SessionId, TurnId, UserId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  REFUSAL_COUNTS_MAX,
  REFUSALS_AUDITED_MAX,
  REFUSALS_LOGGED_MAX,
} from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { type Actor, type Command, SERVER } from "../../core/session/command.ts";
import type { Decision } from "../../core/session/draft.ts";
import type { EventType, SessionEvent } from "../../core/session/event.ts";
import { eventIs } from "../../core/session/event-table.ts";
import type { Session } from "../../core/session/state.ts";
import type { Audience } from "../../core/session/visibility.ts";
import type { JournalEntry, SessionKey } from "../../store/store.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { type AuditDetails, auditedDetails, type ChangeAct, refusedDetails } from "./audited.ts";

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
function refusalEntry(
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

/**
 * Returns the last that is known of a session: its events are deleted with it. It says who saw the
 * session, because they may read its audit.
 */
export function deletionEntry(
  at: SessionMoment & { readonly actor: Actor; readonly audience: Audience },
): JournalEntry {
  const { sessionId, epoch, atMs, actor, audience } = at;
  const key = deletionKey(sessionId, epoch);
  const details = audience === null ? {} : { audience };
  return entry({ sessionId, key, atMs, act: "session_deleted", actor, details });
}

/** Returns the same for a session that was live until now. */
export function liveDeletion(
  { key, epoch, session }: Pick<SessionSeat, "key" | "epoch"> & { readonly session: Session },
  actor: Actor,
  atMs: number,
): readonly JournalEntry[] {
  const audience = session.chosen.audience ?? null;
  return [deletionEntry({ sessionId: key.sessionId, epoch, actor, atMs, audience })];
}

export function deletionKey(sessionId: SessionId, epoch: string): string {
  return `${sessionId} ${epoch} deleted`;
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

type AuditSeat = Pick<SessionSeat, "key" | "epoch" | "term">;

/** Adds a live session's entries to its tenant's audit; the term tells it from earlier ones. */
export class SessionAudit implements Participant {
  readonly #seat: AuditSeat;
  readonly #refusals = new RefusalCounts();
  #acts = 0;

  constructor(seat: AuditSeat) {
    this.#seat = seat;
  }

  journal(step: CommitStep): readonly JournalEntry[] {
    if (step.kind === "decision") return this.#decided(step);
    const { key, epoch, term } = this.#seat;
    const { sessionId } = key;
    if (step.kind === "checkpoint") return [checkpointEntry({ sessionId, epoch, ...step })];
    this.#acts += 1;
    const { act, details, atMs } = step;
    return [actEntry({ sessionId, number: `${term}-${this.#acts}`, atMs, act, details })];
  }

  /** Enters all that is stored as an event; a refusal that left none, unless it is a flood. */
  #decided(step: Extract<CommitStep, { kind: "decision" }>): readonly JournalEntry[] {
    const { key, epoch, term } = this.#seat;
    const { command, decision } = step;
    const session = { sessionId: key.sessionId, epoch };
    const isAudited = decision.events.some((event) => eventIs(event, "audited"));
    const entries = isAudited ? auditEntries({ ...step, ...session }) : NO_ENTRIES;
    if (isAudited || decision.kind === "accepted") return entries;
    const { refusal } = decision;
    const known = refusedDetails(command, refusal);
    if (known === null) return [];
    const { number, count } = this.#refusals.next(command.actor, refusal.code);
    const isFlood = count > REFUSALS_AUDITED_MAX;
    if (isFlood && !isPowerOfTwo(count)) return [];
    const details = isFlood ? { ...known, count } : known;
    const refused = { refusal, number: `${term}-${number}`, details };
    return [refusalEntry({ ...session, command }, refused)];
  }
}

const NO_ENTRIES: readonly JournalEntry[] = [];

/**
 * Counts refusals by caller and code. The audit has the beginning of a flood, and then its growth:
 * a client that is refused a million times must not fill the disk (P10), and its flood must not
 * hide what other callers tried, or what it tried besides.
 */
class RefusalCounts {
  readonly #counts = new Map<string, number>();
  #number = 0;

  /** Returns the number of a refusal in its session, and among those of its caller and code. */
  next(actor: Actor, code: ErrorCode) {
    const own = JSON.stringify([...callerOf(actor), code]);
    // Client ids can be made up without end: those that come too late share one count per code.
    const hasOwn = this.#counts.has(own) || this.#counts.size < REFUSAL_COUNTS_MAX;
    const key = hasOwn ? own : JSON.stringify(["others", code]);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    this.#number += 1;
    return { number: this.#number, count };
  }
}

/** The refusals of a change that the tables of status and phase do not have. */
const TRANSITION_CODES: ReadonlySet<ErrorCode> = new Set([
  "illegal_transition",
  "agent_out_of_turn",
]);

/**
 * Logs each change of status or phase that was refused, with its code and the states (P4). Of a
 * flood the log has the beginning, and then one line whenever their number has doubled (P10).
 */
export class RefusedTransitions {
  readonly #key: SessionKey;
  readonly #log: Log;
  #count = 0;

  constructor(key: SessionKey, log: Log) {
    this.#key = key;
    this.#log = log;
  }

  /** `before` is the session that the command met, and still is as it was. */
  note(command: Command, before: Session, { code, details }: Refusal) {
    if (!TRANSITION_CODES.has(code)) return;
    this.#count += 1;
    if (this.#count > REFUSALS_LOGGED_MAX && !isPowerOfTwo(this.#count)) return;
    this.#log("transition refused", {
      sessionId: this.#key.sessionId,
      code,
      command: command.type,
      by: command.actor.kind,
      trigger: `${details.trigger ?? command.type}`,
      state: before.connection.sessionState,
      phase: before.phase,
      count: this.#count,
    });
  }
}

/** A user is one caller with any of their clients. */
function callerOf(actor: Actor): readonly string[] {
  if (actor.kind !== "client") return [actor.kind];
  const { clientId, userId } = actor;
  if (userId !== null) return ["user", userId];
  return clientId === null ? ["client"] : ["client", clientId];
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

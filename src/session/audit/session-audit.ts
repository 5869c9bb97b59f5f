import type { ErrorCode } from "../../core/error.ts";
import type { SessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { REFUSAL_COUNTS_MAX, REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import type { JournalEntry } from "../../store/store.ts";
import { refusedDetails } from "./audited.ts";
import {
  type AuditedDecision,
  actEntry,
  auditEntries,
  checkpointEntry,
  refusalEntry,
} from "./entries.ts";

/** Identifies a live session; the term keeps its refusals and acts apart from earlier ones. */
interface AuditedSession {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly term: number;
}

/** Makes the entries of one live session in its tenant's audit. */
export class SessionAudit {
  readonly #session: AuditedSession;
  readonly #refusals = new RefusalCounts();
  #acts = 0;

  constructor(session: AuditedSession) {
    this.#session = session;
  }

  /** Enters all that is stored as an event; a refusal that left none, unless it is a flood. */
  decided(decided: Omit<AuditedDecision, "sessionId" | "epoch">): readonly JournalEntry[] {
    const { command, decision } = decided;
    const entries = auditEntries({ ...this.#session, ...decided });
    if (entries.length > 0 || decision.kind === "accepted") return entries;
    const { refusal } = decision;
    const known = refusedDetails(command, refusal);
    if (known === null) return [];
    const { number, count } = this.#refusals.next(command.actor, refusal.code);
    const isFlood = count > REFUSALS_AUDITED_MAX;
    if (isFlood && !isPowerOfTwo(count)) return [];
    const details = isFlood ? { ...known, count } : known;
    const refused = { refusal, number: `${this.#session.term}-${number}`, details };
    return [refusalEntry({ ...this.#session, command }, refused)];
  }

  checkpoint(revision: number, atMs: number): JournalEntry {
    return checkpointEntry({ ...this.#session, revision, atMs });
  }

  act(act: string, details: JsonObject, atMs: number): JournalEntry {
    const { sessionId, term } = this.#session;
    this.#acts += 1;
    return actEntry({ sessionId, number: `${term}-${this.#acts}`, atMs, act, details });
  }
}

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

import type { ErrorCode } from "../../core/error.ts";
import { REFUSAL_COUNTS_MAX, REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { refusedDetails } from "./audited.ts";
import { actEntry, auditEntries, checkpointEntry, refusalEntry } from "./entries.ts";

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
    const entries = auditEntries({ ...step, ...session });
    if (entries.length > 0 || decision.kind === "accepted") return entries;
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

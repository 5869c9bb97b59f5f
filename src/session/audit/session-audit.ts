import type { ErrorCode } from "../../core/error.ts";
import { REFUSAL_COUNTS_MAX, REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { details, refusedDetails } from "./audited.ts";
import { actEntry, auditEntries, checkpointEntry, refusalEntry } from "./entries.ts";

/** What one live session adds to its tenant's audit; the term tells it from earlier ones. */
export class SessionAudit implements Participant {
  readonly #seat: Pick<SessionSeat, "key" | "epoch" | "term">;
  readonly #refusals = new RefusalCount();
  #acts = 0;

  constructor(seat: Pick<SessionSeat, "key" | "epoch" | "term">) {
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

  /** A stored event is always recorded; a refusal without one, unless it is part of a flood. */
  #decided(step: Extract<CommitStep, { kind: "decision" }>): readonly JournalEntry[] {
    const { key, epoch, term } = this.#seat;
    const { sessionId } = key;
    const { command, decision, firstEventId, revision } = step;
    const told = auditEntries({ sessionId, epoch, command, decision, firstEventId, revision });
    if (told.length > 0 || decision.kind === "accepted") return told;
    const facts = refusedDetails(command, decision.refusal);
    if (facts === null) return told;
    const { number, count, isTold } = this.#refusals.next(command.actor, decision.refusal.code);
    if (!isTold) return told;
    const isFlood = count > REFUSALS_AUDITED_MAX;
    const refused = { command, refusal: decision.refusal, number: `${term}-${number}` };
    const all = isFlood ? { ...facts, ...details({ count }) } : facts;
    return [refusalEntry({ sessionId, epoch, ...refused, details: all })];
  }
}

/** One refusal among those of its live session, and among those of the same caller and code. */
interface Counted {
  readonly number: number;
  readonly count: number;
  readonly isTold: boolean;
}

/**
 * Of a flood of refusals the audit has the beginning, and then how it grows: one who does wrong a
 * million times must not fill the disk with it (P10). Each caller is counted apart, and each code,
 * so that nobody's flood hides what somebody else tried, or what they tried themselves besides.
 */
class RefusalCount {
  readonly #counts = new Map<string, number>();
  #number = 0;

  next(actor: Actor, code: ErrorCode): Counted {
    const key = this.#keyOf(actor, code);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    this.#number += 1;
    return { number: this.#number, count, isTold: isTold(count) };
  }

  /** Client ids can be made up without end: whoever comes too late shares one count per code. */
  #keyOf(actor: Actor, code: ErrorCode): string {
    const own = JSON.stringify([...callerOf(actor), code]);
    const isRoom = this.#counts.has(own) || this.#counts.size < REFUSAL_COUNTS_MAX;
    return isRoom ? own : JSON.stringify(["others", code]);
  }
}

/** A user is one caller by whatever client they come. */
function callerOf(actor: Actor): readonly string[] {
  if (actor.kind !== "client") return [actor.kind];
  const { clientId, userId } = actor;
  if (userId !== null) return ["user", userId];
  return clientId === null ? ["client"] : ["client", clientId];
}

function isTold(count: number): boolean {
  return count <= REFUSALS_AUDITED_MAX || (count & (count - 1)) === 0;
}

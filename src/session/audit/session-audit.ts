import { REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { JournalEntry } from "../../store/store.ts";
import type { CommitStep, Participant, SessionSeat } from "../participant.ts";
import { refusedDetails } from "./audited-refusals.ts";
import { details } from "./details.ts";
import { actEntry, auditEntries, checkpointEntry, refusalEntry } from "./entries.ts";
import { RefusalCount } from "./refusal-count.ts";

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

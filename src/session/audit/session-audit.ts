import type { ErrorCode } from "../../core/error.ts";
import type { SessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { REFUSAL_COUNTS_MAX, REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import type { JournalEntry } from "../../store/store.ts";
import { details, refusedDetails } from "./audited.ts";
import { type Audited, actEntry, auditEntries, checkpointEntry, refusalEntry } from "./entries.ts";

/** Which live session it is; the term names its refusals and acts apart from earlier ones. */
interface Live {
  readonly sessionId: SessionId;
  readonly epoch: string;
  readonly term: number;
}

/** What one live session tells its tenant's audit. */
export class SessionAudit {
  readonly #live: Live;
  readonly #refusals = new RefusalCount();
  #acts = 0;

  constructor(live: Live) {
    this.#live = live;
  }

  /** What is stored as an event is always told; a refusal that left none, unless it is a flood. */
  decided(said: Omit<Audited, "sessionId" | "epoch">): readonly JournalEntry[] {
    const { sessionId, epoch, term } = this.#live;
    const { command, decision } = said;
    const told = auditEntries({ ...said, sessionId, epoch });
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

  checkpoint(revision: number, atMs: number): JournalEntry {
    const { sessionId, epoch } = this.#live;
    return checkpointEntry({ sessionId, epoch, revision, atMs });
  }

  act(act: string, details: JsonObject, atMs: number): JournalEntry {
    const { sessionId, term } = this.#live;
    this.#acts += 1;
    return actEntry({ sessionId, number: `${term}-${this.#acts}`, atMs, act, details });
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

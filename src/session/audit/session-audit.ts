import type { SessionId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import { REFUSALS_AUDITED_MAX } from "../../core/limits.ts";
import type { JournalEntry } from "../../store/store.ts";
import { refusedDetails } from "./audited-refusals.ts";
import { details } from "./details.ts";
import { type Audited, actEntry, auditEntries, checkpointEntry, refusalEntry } from "./entries.ts";
import { RefusalCount } from "./refusal-count.ts";

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

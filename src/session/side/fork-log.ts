import type { LogEvent } from "../../core/replay/compact.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Command } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import type { Session } from "../../core/session/state.ts";
import type { JournalEntry, SessionKey } from "../../store/store.ts";
import { type Written, writeEvents } from "../actor/written.ts";
import { auditEntries } from "../audit/index.ts";
import { copiedEvents } from "./fork-event.ts";

/** The log of a session that is made from another: what the core decides, and copies between. */
export class ForkLog {
  readonly epoch: string;
  readonly #key: SessionKey;
  readonly #journal: JournalEntry[] = [];
  #session: Session | null = null;
  #lastEventId = 0;
  #turnsCompleted = 0;

  constructor(key: SessionKey, epoch: string) {
    this.#key = key;
    this.epoch = epoch;
  }

  get lastEventId(): number {
    return this.#lastEventId;
  }

  /** What the audit is to be told, once it is true. */
  get journal(): readonly JournalEntry[] {
    return this.#journal;
  }

  /** How many of the copied turns were completed. */
  get turnsCompleted(): number {
    return this.#turnsCompleted;
  }

  get session(): Result<Session> {
    const { sessionId } = this.#key;
    return this.#session === null ? fail("session_not_found", { sessionId }) : ok(this.#session);
  }

  decided(command: Command): Result<readonly Written[]> {
    const decision = decide(this.#session, command);
    if (decision.kind === "refused") return { ok: false, refusal: decision.refusal };
    const { sessionId } = this.#key;
    const firstEventId = this.#lastEventId + 1;
    const about = { sessionId, epoch: this.epoch, firstEventId };
    this.#journal.push(...auditEntries({ ...about, command, decision, revision: null }));
    this.#session = decision.session;
    this.#lastEventId += decision.events.length;
    return ok(writeEvents(decision.events, firstEventId));
  }

  /** What the fork has of a folded turn; perhaps nothing. */
  copied(turn: readonly LogEvent[]): readonly Written[] {
    const events = copiedEvents(turn, this.#key.sessionId, this.#lastEventId + 1);
    this.#lastEventId += events.length;
    for (const { type, data } of events) {
      if (type === "turn_complete" && data.turnId !== undefined) this.#turnsCompleted += 1;
    }
    return events.map((event) => ({ id: event.id, event, text: JSON.stringify(event) }));
  }
}

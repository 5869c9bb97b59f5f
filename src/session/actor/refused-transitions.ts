import type { ErrorCode, Refusal } from "../../core/error.ts";
import { REFUSALS_LOGGED_MAX } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { Command } from "../../core/session/command.ts";
import type { Session } from "../../core/session/state.ts";
import type { SessionKey } from "../../store/store.ts";

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

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

import { type ErrorCode, type Refusal, refusal } from "../error.ts";
import { applyLifecycleEvent, type LifecycleEvent } from "../lifecycle.ts";
import { type SessionState, transitionSessionState } from "../status.ts";
import type { Command } from "./command.ts";
import type { EventData, EventType, SessionEvent, Stamp } from "./event.ts";
import { evolve } from "./evolve.ts";
import type { StatusCause } from "./reason.ts";
import type { FirstAnswer, Session } from "./state.ts";

/** What a command comes to. The session in it is the old one with the events applied. */
export type Decision =
  | {
      readonly kind: "accepted";
      readonly events: readonly SessionEvent[];
      readonly session: Session | null;
      /** What the caller is answered: for the new prompt or shell command, or for the first one
       * if this is a retry of it. */
      readonly answer?: FirstAnswer;
    }
  | {
      readonly kind: "refused";
      readonly refusal: Refusal;
      /** A few refusals are news to others, such as a late vote; the rest leave no event. */
      readonly events: readonly SessionEvent[];
      readonly session: Session | null;
    };

export function unchanged(session: Session | null): Decision {
  return { kind: "accepted", events: [], session };
}

export function refused(session: Session | null, why: Refusal): Decision {
  return { kind: "refused", refusal: why, events: [], session };
}

/**
 * A decision in the making. Each event is applied as it is written down, so that the next step
 * sees what the last one did, through the same `evolve` that will read the log one day. A step
 * that either state machine does not have spoils the draft: it is refused whole.
 */
export class Draft {
  session: Session;
  readonly #before: Session | null;
  readonly #atMs: number;
  readonly #events: SessionEvent[] = [];
  #spoiled: Refusal | null = null;

  constructor(session: Session, command: Command, first?: SessionEvent) {
    this.session = session;
    this.#atMs = command.atMs;
    this.#before = first === undefined ? session : null;
    if (first !== undefined) this.#events.push(first);
  }

  get state(): SessionState {
    return this.session.connection.sessionState;
  }

  emit<Type extends EventType>(type: Type, data: Readonly<EventData[Type]>, stamp: Stamp = {}) {
    const event = makeEvent(type, this.session, data, stamp, this.#atMs);
    this.session = evolve(this.session, event);
    this.#events.push(event);
  }

  /** The only way to another status. Asking for the status already held does nothing. */
  moveTo(to: SessionState, cause: StatusCause, more: { message?: string; stamp?: Stamp } = {}) {
    const from = this.state;
    const change = transitionSessionState(from, to);
    if (change === "unchanged") return;
    if (change === "illegal") {
      this.#spoiled ??= refusal("illegal_transition", { state: from, trigger: cause });
      return;
    }
    const { turnId } = this.session.connection.turn;
    const { message, stamp } = more;
    const activation = to === "activating" ? { activation: this.session.activation + 1 } : {};
    const about = { ...(turnId && { turnId }), ...(message && { message }), ...activation };
    this.emit(
      "session_status",
      { from, to, cause, ...about },
      stamp ?? this.session.running?.stamp,
    );
  }

  /** The only way to another phase. */
  enter(event: LifecycleEvent, more: PhaseDetails = {}, stamp: Stamp = {}) {
    const from = this.session.phase;
    const to = applyLifecycleEvent(from, event);
    if (typeof to === "string") this.emit("session_lifecycle", { event, from, to, ...more }, stamp);
    else this.#spoiled ??= to;
  }

  accept(answer?: FirstAnswer): Decision {
    if (this.#spoiled !== null) return refused(this.#before, this.#spoiled);
    const decision = { kind: "accepted", events: this.#events, session: this.session } as const;
    return answer === undefined ? decision : { ...decision, answer };
  }

  /** Refuses the command, and tells what was emitted to everyone. */
  refuse(code: ErrorCode, details: Refusal["details"] = {}): Decision {
    const why = this.#spoiled ?? refusal(code, details);
    if (this.#spoiled !== null) return refused(this.#before, why);
    return { kind: "refused", refusal: why, events: this.#events, session: this.session };
  }
}

type PhaseDetails = Omit<EventData["session_lifecycle"], "event" | "from" | "to">;

function makeEvent<Type extends EventType>(
  type: Type,
  session: Pick<Session, "sessionId">,
  data: Readonly<EventData[Type]>,
  stamp: Stamp,
  atMs: number,
): SessionEvent {
  const _meta = { serverTimestamp: atMs };
  const event: SessionEvent<Type> = {
    v: 1,
    type,
    data: { sessionId: session.sessionId, ...data },
    ...stamp,
    _meta,
  };
  // One member of the union is a member of the union, which the compiler cannot see of a generic.
  return event as SessionEvent;
}

import { type Deadline, SERVER } from "../../core/session/command.ts";
import type { Session } from "../../core/session/state.ts";
import { sandboxDueAtMs } from "../../core/turn.ts";
import type { CallOff, Clock } from "../../platform/clock.ts";
import type { Participant, SessionSeat } from "../participant.ts";
import { type SessionWorld, stampedBy } from "../world.ts";

/** What a session has to be reminded of, and when. */
export function deadlinesOf(session: Session, settleMs: number): ReadonlyMap<string, DueAt> {
  const due = new Map<string, DueAt>();
  const { running, queue } = session;
  for (const { promptId, deadlineAtMs } of running === null ? queue : [running, ...queue]) {
    if (deadlineAtMs === null) continue;
    due.set(`prompt ${promptId}`, { atMs: deadlineAtMs, deadline: { of: "prompt", promptId } });
  }
  for (const [requestId, { deadlineAtMs }] of session.connection.turn.openAsks) {
    if (deadlineAtMs === null) continue;
    due.set(`ask ${requestId}`, { atMs: deadlineAtMs, deadline: { of: "ask", requestId } });
  }
  for (const { childId, deadlineAtMs: atMs, ended } of session.connection.turn.children.values()) {
    if (ended !== null) continue;
    due.set(`child ${childId}`, { atMs, deadline: { of: "child", childId } });
  }
  if (running !== null && running.stopAskedAtMs !== null) {
    const { turnId } = running;
    const atMs = running.stopAskedAtMs + settleMs;
    due.set(`settling ${turnId}`, { atMs, deadline: { of: "settling", turnId } });
  }
  const sandboxAtMs = sandboxDueAtMs(session.connection);
  if (sandboxAtMs !== null) due.set("sandbox", { atMs: sandboxAtMs, deadline: { of: "sandbox" } });
  return due;
}

interface DueAt {
  readonly atMs: number;
  readonly deadline: Deadline;
}

interface TimerDeps {
  readonly clock: Clock;
  readonly settings: Pick<SessionWorld["settings"], "settleMs">;
}

/** The timers of one session. They follow its state, so none is ever forgotten or left over. */
export class DeadlineTimers implements Participant {
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #passed: (deadline: Deadline) => void;
  readonly #set = new Map<string, { readonly atMs: number; readonly cancel: CallOff }>();

  constructor({ clock, settings }: TimerDeps, seat: Pick<SessionSeat, "submit">) {
    this.#clock = clock;
    this.#settleMs = settings.settleMs;
    this.#passed = (deadline) => {
      void seat.submit({ ...stampedBy(clock, SERVER), type: "deadline_passed", deadline });
    };
  }

  follow(session: Session) {
    this.#setTo(deadlinesOf(session, this.#settleMs));
  }

  end() {
    this.#setTo(new Map());
  }

  #setTo(due: ReadonlyMap<string, DueAt>) {
    for (const [name, { atMs, cancel }] of this.#set) {
      if (due.get(name)?.atMs === atMs) continue;
      cancel();
      this.#set.delete(name);
    }
    for (const [name, one] of due) if (!this.#set.has(name)) this.#remind(name, one);
  }

  /** A timer cannot be set for longer than it can count; then it is set once more. */
  #remind(name: string, one: DueAt) {
    const { atMs, deadline } = one;
    const inMs = Math.max(0, atMs - this.#clock.nowMs());
    const cancel = this.#clock.after(Math.min(inMs, TIMER_MS_MAX), () => {
      this.#set.delete(name);
      if (atMs <= this.#clock.nowMs()) this.#passed(deadline);
      else this.#remind(name, one);
    });
    this.#set.set(name, { atMs, cancel });
  }
}

/** The longest that a timer of Node's can be set for. */
const TIMER_MS_MAX = 2 ** 31 - 1;

import type { PromptId } from "../../core/id.ts";
import { fail, type Result } from "../../core/result.ts";
import type { Audience } from "../../core/session/visibility.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TurnStatus } from "../../wire/turn-status.ts";
import type { VerdictWaits } from "../bus/verdict-waits.ts";
import { type TurnSource, turnOf } from "./turn-status.ts";

/** How long a caller waits for a turn, and who the caller is. */
export interface TurnWait {
  readonly ms: number;
  /** Ends the wait early. */
  readonly signal: AbortSignal;
  /** Whether the caller sees a session of this audience. */
  readonly sees: (audience: Audience) => boolean;
}

/** Reads turns for callers that wait for their verdicts. */
export class EndedTurns {
  readonly #waits: VerdictWaits;
  readonly #clock: Clock;
  /** What was found after a wake, for all who were woken. */
  readonly #found = new WeakMap<object, Promise<Result<TurnStatus | null>>>();

  constructor(waits: VerdictWaits, clock: Clock) {
    this.#waits = waits;
    this.#clock = clock;
  }

  /**
   * The turn with its verdict; or as it is when the wait is over. A caller that loses sight of the
   * session meanwhile is answered like one that never saw it (P8).
   */
  async turn(
    source: () => TurnSource,
    promptId: PromptId,
    { ms, signal, sees }: TurnWait,
  ): Promise<Result<TurnStatus | null>> {
    const { key } = source();
    const wait = this.#waits.begin(key, promptId);
    let isOver = signal.aborted;
    const end = () => {
      isOver = true;
      wait.wake();
    };
    const callOff = this.#clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
    try {
      for (;;) {
        const turn = await this.#look(wait.wakened, source, promptId);
        if (!sees(source().session.chosen.audience ?? null)) {
          return fail("session_not_found", { sessionId: key.sessionId });
        }
        if (!turn.ok || turn.value === null || hasEnded(turn.value)) return turn;
        if (isOver) return turnOf(source(), promptId);
        await wait.woken();
      }
    } finally {
      callOff();
      signal.removeEventListener("abort", end);
      wait.end();
    }
  }

  #look(wakened: object, source: () => TurnSource, promptId: PromptId) {
    const known = this.#found.get(wakened);
    if (known !== undefined) return known;
    const found = turnOf(source(), promptId);
    this.#found.set(wakened, found);
    return found;
  }
}

export function hasEnded({ state }: TurnStatus): boolean {
  return state !== "idle" && state !== "queued" && state !== "running";
}

import type { PromptId } from "../../core/id.ts";
import { VERDICT_HELD_MS_MAX } from "../../core/limits.ts";
import { isVerdict } from "../../core/session/event.ts";
import type { Written } from "../actor/written.ts";
import type { CallOff, Clock } from "../world.ts";

/**
 * Lets durable events out to the streams in order, but a verdict not before the answer to its
 * prompt: a client that reads its stream faster than that answer would wait for the verdict for
 * ever (wire, 16.1). What comes after a verdict that is kept back waits behind it.
 */
export class Outlet {
  readonly #clock: Clock;
  readonly #tell: (written: readonly Written[]) => void;
  /** Prompts whose callers have no answer yet, with what calls off the end of their patience. */
  readonly #unanswered = new Map<PromptId, CallOff>();
  #waiting: readonly Written[] = [];
  #watchers: (() => void)[] = [];

  constructor(clock: Clock, tell: (written: readonly Written[]) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** How many durable events have not been let out yet. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Keeps this prompt's verdict back until the answer is out, or for as long as that may take. */
  hold(promptId: PromptId): () => void {
    const release = () => {
      this.#unanswered.get(promptId)?.();
      if (this.#unanswered.delete(promptId)) this.#letOut();
    };
    this.#unanswered.set(promptId, this.#clock.after(VERDICT_HELD_MS_MAX, release));
    return release;
  }

  publish(written: readonly Written[]) {
    this.#waiting = this.#waiting.length === 0 ? written : [...this.#waiting, ...written];
    this.#letOut();
  }

  /** The streams are about to end: whoever waits has waited long enough. */
  flush() {
    for (const callOff of this.#unanswered.values()) callOff();
    this.#unanswered.clear();
    this.#letOut();
  }

  /** Resolves when everything that is durable now has been let out. */
  async caughtUp(): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last === undefined) return;
    while ((this.#waiting[0]?.id ?? Number.POSITIVE_INFINITY) <= last.id) {
      await new Promise<void>((wake) => this.#watchers.push(wake));
    }
  }

  #letOut() {
    const kept = this.#waiting.findIndex((one) => this.#isHeld(one));
    const free = kept < 0 ? this.#waiting : this.#waiting.slice(0, kept);
    this.#waiting = kept < 0 ? [] : this.#waiting.slice(kept);
    if (free.length === 0) return;
    this.#tell(free);
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }

  #isHeld({ event }: Written): boolean {
    return isVerdict(event) && this.#unanswered.has(event.data.promptId);
  }
}

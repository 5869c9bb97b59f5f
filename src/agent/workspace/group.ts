import { setTimeout as delay } from "node:timers/promises";
import { TERMINAL_POLL_MS } from "../../core/limits.ts";
import { processTable } from "../process/table.ts";
import { systemCodeOf } from "../system-error.ts";

/**
 * A process group and its leader, whose number it has. That number is not given to another while
 * the group has members, and a group that was found empty is never signalled again; it is looked
 * at when the leader and when its output ends. So a stranger could be met only if children outlived
 * both, ended unseen, and the system had used up all its numbers since.
 */
export class ProcessGroup {
  readonly #id: number;
  #hasLeader = true;
  #isGone = false;

  constructor(leader: number) {
    this.#id = leader;
  }

  leaderEnded() {
    this.#hasLeader = false;
    this.look();
  }

  look() {
    this.signal(0);
  }

  signal(signal: NodeJS.Signals | 0) {
    if (this.#isGone) return;
    try {
      process.kill(-this.#id, signal);
    } catch (thrown) {
      // A member that may not be signalled is a member all the same.
      this.#isGone = systemCodeOf(thrown) === "ESRCH";
    }
  }

  /** The system does not tell when a group is empty, so it is asked again and again. */
  async isGoneWithin(ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    for (;;) {
      await this.#lookClosely();
      if (this.#isGone || performance.now() > end) return this.#isGone;
      await delay(TERMINAL_POLL_MS);
    }
  }

  /**
   * Children that ended after their parent remain in the group until somebody buries them, in some
   * containers for ever. They do nothing any more, so a group of the dead alone is gone as well.
   */
  async #lookClosely(): Promise<void> {
    this.look();
    if (this.#isGone || this.#hasLeader) return;
    try {
      const living = await processTable().list(WITHOUT_MARKS);
      this.#isGone = living.every(({ group }) => group !== this.#id);
    } catch {
      // Nothing was seen, so nothing is known; the next look may tell.
    }
  }
}

/** No process is as young as this, so that the table looks into no environment. */
const WITHOUT_MARKS = String(Number.MAX_SAFE_INTEGER);

import type { CallOff, Clock } from "./clock.ts";

interface Timer {
  readonly ms: number;
  readonly dueMs: number;
  act(): void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs = 0;
  #timers: Timer[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(ms: number, act: () => void): CallOff {
    const timer = { ms, dueMs: this.#nowMs + ms, act };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** How many timers of this length run. */
  running(ms: number): number {
    return this.#timers.filter((timer) => timer.ms === ms).length;
  }

  get runningCount(): number {
    return this.#timers.length;
  }

  /** Everything that is due by then happens at its time, in order. */
  advance(ms: number) {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers.filter(({ dueMs }) => dueMs <= untilMs);
      const [next] = due.sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#nowMs = next.dueMs;
      next.act();
    }
    this.#nowMs = untilMs;
  }
}

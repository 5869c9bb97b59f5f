import { expect, onTestFinished, vi } from "vitest";

/**
 * Time that stands still, for limits that must not run out before something was heard. Processes
 * go on meanwhile, since only timers of this thread are held; so does `expect.poll`.
 */
export class StillTime {
  constructor() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** Lets so much time pass once a timer is set; then time runs normally. */
  async pass(ms: number): Promise<void> {
    await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0);
    vi.advanceTimersByTime(ms);
    vi.useRealTimers();
  }
}

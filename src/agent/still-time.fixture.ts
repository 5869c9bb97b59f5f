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

  /** So much has passed for whoever waits, as soon as somebody does; then it passes by itself. */
  async pass(ms: number): Promise<void> {
    await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0);
    vi.advanceTimersByTime(ms);
    vi.useRealTimers();
  }
}

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CallTimer } from "./call-limit.ts";

/** An agent of which each look takes a second, and finds what is written here; then no work. */
function patient(looks: boolean[], msMax: number) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const late: number[] = [];
  const isWorking = () =>
    new Promise<boolean>((resolve) => setTimeout(() => resolve(looks.shift() ?? false), 1_000));
  const timer = new CallTimer({ ms: 10_000, msMax, isWorking }, (ms) => late.push(ms));
  timer.run();
  return { late, timer };
}

describe("P10: a limit that an agent at work may pass", () => {
  it("is over a look after its time, if nothing is done", async () => {
    const { late } = patient([], 30_000);
    await vi.advanceTimersByTimeAsync(10_999);
    expect(late).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(late).toEqual([10_000]);
  });

  it("goes on while something is done", async () => {
    const { late } = patient([true, true, true, false], 30_000);
    await vi.advanceTimersByTimeAsync(13_999);
    expect(late).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(late).toEqual([13_000]);
  });

  it("has an end all the same", async () => {
    const { late } = patient(Array(100).fill(true), 15_000);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(late).toEqual([15_000]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(late).toEqual([15_000]);
  });

  it("says nothing of a call that was answered while it looked", async () => {
    const { late, timer } = patient([false], 30_000);
    await vi.advanceTimersByTimeAsync(10_500);
    timer.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(late).toEqual([]);
    timer.run();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(late).toEqual([10_000]);
  });
});

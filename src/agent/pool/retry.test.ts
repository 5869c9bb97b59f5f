import { describe, expect, it } from "vitest";
import { AGENT_BACKOFF_MS_MAX, AGENT_BREAKERS_MAX, AGENT_FAILURES_MAX } from "../../core/limits.ts";
import { Breaker, Breakers } from "./retry.ts";

function failedTimes(times: number): Breaker {
  const breaker = new Breaker();
  for (let n = 0; n < times; n += 1) breaker.failed("no key", 1_000, 1_000);
  return breaker;
}

describe("the breaker", () => {
  it("lets an agent that has not failed start at once", () => {
    expect(new Breaker().advice(0)).toEqual({ kind: "start" });
  });

  it("makes the start after a failure wait, twice as long each time", () => {
    const waits = [1, 2, 3].map((times) => failedTimes(times).advice(1_000));
    expect(waits).toEqual([
      { kind: "wait", waitMs: 250 },
      { kind: "wait", waitMs: 500 },
      { kind: "wait", waitMs: 1_000 },
    ]);
  });

  it("P10: after some failures in a row nobody waits; the reason and the next try are told", () => {
    expect(failedTimes(AGENT_FAILURES_MAX).advice(1_000)).toEqual({
      kind: "refuse",
      failures: AGENT_FAILURES_MAX,
      retryMs: 2_000,
      reason: "no key",
    });
  });

  it("allows one more try when the time has passed", () => {
    const breaker = failedTimes(AGENT_FAILURES_MAX);
    expect(breaker.advice(3_000)).toEqual({ kind: "start" });
    breaker.failed("no key", 3_000, 3_000);
    expect(breaker.advice(3_000)).toMatchObject({ kind: "refuse", retryMs: 4_000 });
  });

  it("never waits longer than its limit, however often it failed", () => {
    const advice = failedTimes(5_000).advice(1_000);
    expect(advice).toMatchObject({ kind: "refuse", retryMs: AGENT_BACKOFF_MS_MAX });
  });

  it("counts what was begun together and failed together once", () => {
    const breaker = new Breaker();
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) breaker.failed("no key", 900, 1_000 + n);
    expect(breaker.advice(1_000)).toEqual({ kind: "wait", waitMs: 250 });
  });
});

describe("the breakers", () => {
  it("P10: are as many as there may be, the oldest being forgiven first", () => {
    const breakers = new Breakers();
    breakers.of("first").failed("no key", 0, 0);
    for (let n = 1; n < AGENT_BREAKERS_MAX; n += 1) breakers.of(`place ${n}`);
    expect(breakers.of("first").advice(0)).toMatchObject({ kind: "wait" });
    for (let n = 0; n < AGENT_BREAKERS_MAX; n += 1) breakers.of(`another ${n}`);
    expect(breakers.of("first").advice(0)).toEqual({ kind: "start" });
  });
});

import { describe, expect, it, vi } from "vitest";
import { AGENT_FAILURES_MAX, AGENT_STEADY_MS_MIN } from "../../core/limits.ts";
import { pastOf, Stage } from "../bridge/bridge.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";

const impatient = { limits: { ...DEFAULT_LIMITS, callMs: 500, restoreMs: 150 } };

/** Long enough for an agent that does answer, on a slow machine too. */
const patient = { limits: { ...DEFAULT_LIMITS, callMs: 1_500 } };

describe("an agent that answers nothing but initialize", () => {
  it("P5: is ended, and nobody else is given it", async () => {
    const stage = new Stage();
    const profile = stage.odd("hangs", impatient);
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_call_timeout",
      details: { method: "session/new" },
    });
    await vi.waitFor(() => expect(stage.marks()).toEqual([]), 5_000);
    await stage.refused(profile, { past: pastOf("S", "Hi.") });
    expect(stage.starts).toBe(2);
  });

  it("P10: is not started over and over, though it lived for a while each time", async () => {
    const stage = new Stage();
    const profile = stage.odd("hangs", impatient);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      stage.nowMs += 100_000;
      const refused = stage.refused(profile);
      await vi.waitUntil(() => stage.pool.processCount === 1, { interval: 5, timeout: 5_000 });
      stage.nowMs += AGENT_STEADY_MS_MIN;
      expect((await refused).code).toBe("agent_call_timeout");
      await vi.waitFor(() => expect(stage.marks()).toEqual([]), 5_000);
    }
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_breaker_open",
      details: { reason: expect.stringContaining("session/new") },
    });
    expect(stage.starts).toBe(AGENT_FAILURES_MAX);
  });
});

describe("an agent that hangs while others use it", () => {
  it("keeps its sessions, and whoever came too late goes to another process", async () => {
    const stage = new Stage();
    const profile = stage.odd("makes-late", patient);
    const first = await stage.connected(profile);
    await stage.connected(profile);
    expect(stage.starts).toBe(2);
    expect((await first.turn("go")).verdict).toMatchObject({ status: "turn_complete" });
  });

  it("closes a session that it made when nobody waited for it any more", async () => {
    const stage = new Stage();
    const profile = stage.odd("makes-late", patient);
    const first = await stage.connected(profile);
    await stage.connected(profile);
    await first.turn("go");
    await first.ears.until(() => first.ears.text === "closed late");
    expect(stage.faults).toEqual([]);
  });
});

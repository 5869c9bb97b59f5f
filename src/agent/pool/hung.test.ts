import { describe, expect, it } from "vitest";
import { AGENT_FAILURES_MAX, AGENT_STEADY_MS_MIN } from "../../core/limits.ts";
import { type Hand, pastOf, Stage } from "../bridge/bridge.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";
import { StillTime } from "../still-time.fixture.ts";

const impatient = { limits: { ...DEFAULT_LIMITS, callMs: 500, restoreMs: 150 } };

/** Time passes for the one call that is not answered, once the agent has heard it. */
async function outOfTime(stage: Stage, profile: string, first: Hand) {
  const time = new StillTime();
  const second = stage.connected(profile);
  await first.ears.until(() => first.ears.text === "asked again");
  await time.pass(DEFAULT_LIMITS.callMs);
  await second;
}

describe("an agent that answers nothing but initialize", () => {
  it("P5: is ended, and nobody else is given it", async () => {
    const stage = new Stage();
    const profile = stage.odd("hangs", impatient);
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_call_timeout",
      details: { method: "session/new", option: "--initialize-timeout-ms" },
    });
    await expect.poll(() => stage.marks()).toEqual([]);
    await stage.refused(profile, { past: pastOf("S", "Hi.") });
    expect(stage.starts).toBe(2);
  });

  it("P10: is not started over and over, though it lived for a while each time", async () => {
    const stage = new Stage();
    const profile = stage.odd("hangs", impatient);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      stage.nowMs += 100_000;
      const time = new StillTime();
      const refused = stage.refused(profile);
      await expect.poll(() => stage.pool.processCount).toBe(1);
      stage.nowMs += AGENT_STEADY_MS_MIN;
      await time.pass(impatient.limits.callMs);
      expect((await refused).code).toBe("agent_call_timeout");
      await expect.poll(() => stage.marks()).toEqual([]);
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
    const profile = stage.odd("makes-late");
    const first = await stage.connected(profile);
    await outOfTime(stage, profile, first);
    expect(stage.starts).toBe(2);
    expect((await first.turn("go")).verdict).toMatchObject({ status: "turn_complete" });
  });

  it("closes a session that it made when nobody waited for it any more", async () => {
    const stage = new Stage();
    const profile = stage.odd("makes-late");
    const first = await stage.connected(profile);
    await outOfTime(stage, profile, first);
    await first.turn("go");
    await first.ears.until(() => first.ears.text.endsWith("closed late"));
    expect(stage.faults).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { AGENT_FAILURES_MAX } from "../../core/limits.ts";
import { codeOf, Ears, Stage, tenant } from "../bridge/bridge.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";

const OURS = { tenantId: tenant("ours") };
const THEIRS = { tenantId: tenant("theirs") };

describe("dismissing the agents of a tenant", () => {
  it("P5, P8: ends all of them, used or not, and none of another's", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    await (await stage.connected(profile, OURS)).session.close();
    const used = await stage.connected(stage.echo([], {}, "another"), OURS);
    const other = await stage.connected(profile, THEIRS);
    expect(stage.pool.processCount).toBe(3);
    await stage.pool.dismiss(OURS.tenantId);
    expect(stage.marks()).toHaveLength(1);
    expect(used.ears.exits).toHaveLength(1);
    expect((await other.turn("say on")).text).toBe("on");
  });

  it("calls off one that is on its way; whoever waited for it is told", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, startMs: 60_000 };
    const profile = stage.echo(["--slow-start", "60000"], { limits });
    const connecting = stage.connect(profile, OURS, new Ears());
    await expect.poll(() => stage.marks()).toHaveLength(1);
    await stage.pool.dismiss(OURS.tenantId);
    expect(codeOf(await connecting)).toBe("agent_connect_aborted");
    expect(stage.marks()).toEqual([]);
  });

  it("forgets how often they failed: a tenant of the same name begins anew", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--exit-at-start", "1"]);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      await stage.connect(profile, OURS);
      stage.nowMs += 100_000;
    }
    stage.nowMs -= 100_000;
    expect(codeOf(await stage.connect(profile, OURS))).toBe("agent_breaker_open");
    await stage.pool.dismiss(OURS.tenantId);
    stage.echo();
    expect((await (await stage.connected(profile, OURS)).turn("say hi")).text).toBe("hi");
  });
});

import { describe, expect, it } from "vitest";
import { parseUserId } from "../../core/id.ts";
import { fail, type Result } from "../../core/result.ts";
import { Stage, tenant } from "../bridge/bridge.fixture.ts";
import { HeldStart } from "../builtin/echo/held-start.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";

const FOUR = { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 4 } };

const EIGHT = { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 8 } };

const connectedTimes = async (stage: Stage, profile: string, count: number) => {
  const hands = [];
  for (let n = 0; n < count; n += 1) hands.push(await stage.connected(profile));
  return hands;
};

describe("a spare agent", () => {
  it("starts before the last seat is taken, so the session after that need not wait", async () => {
    const stage = new Stage();
    const profile = stage.echo([], FOUR);
    await connectedTimes(stage, profile, 2);
    expect(stage.starts).toBe(1);
    await connectedTimes(stage, profile, 1);
    await expect.poll(() => stage.pool.processCount).toBe(2);
    await connectedTimes(stage, profile, 3);
    expect(stage.starts).toBe(2);
  });

  it("starts earlier where sessions come faster than a process starts", async () => {
    const stage = new Stage();
    const profile = stage.echo([], EIGHT);
    stage.beforeStart = async () => {
      stage.nowMs += 100;
      return null;
    };
    const connectedEach = async (ms: number, count: number) => {
      for (let n = 0; n < count; n += 1) {
        await connectedTimes(stage, profile, 1);
        stage.nowMs += ms;
      }
    };
    await connectedEach(10, 2);
    expect(stage.starts).toBe(1);
    await connectedEach(10, 1);
    expect(stage.starts).toBe(2);
    await expect.poll(() => stage.pool.processCount).toBe(2);
    stage.nowMs += 10_000;
    await connectedEach(10, 5);
    expect(stage.starts).toBe(2);
  });

  it("P10: is at most two, however fast sessions come", async () => {
    const stage = new Stage();
    const profile = stage.echo([], EIGHT);
    stage.beforeStart = async () => {
      stage.nowMs += 1_000;
      return null;
    };
    await connectedTimes(stage, profile, 1);
    const held = Promise.withResolvers<null>();
    stage.beforeStart = () => held.promise;
    await connectedTimes(stage, profile, 7);
    expect(stage.starts).toBe(3);
    held.resolve(null);
  });

  it("is one at a time, however many sessions come at once", async () => {
    const stage = new Stage();
    const profile = stage.echo([], FOUR);
    await connectedTimes(stage, profile, 1);
    await Promise.all([1, 2, 3].map(() => stage.connected(profile)));
    await expect.poll(() => stage.pool.processCount).toBe(2);
    expect(stage.starts).toBe(2);
  });

  it("P10: is no burden of an agent that takes few sessions", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, sessionsPerProcess: 3 };
    await connectedTimes(stage, stage.echo([], { limits }), 3);
    expect(stage.starts).toBe(1);
  });

  it("P10: ends no unused agent, and makes way for one that a session needs", async () => {
    const stage = new Stage(null, 2);
    const profile = stage.echo([], FOUR);
    const other = stage.echo([], FOUR, "other-echo");
    await (await stage.connected(other)).session.close();
    await connectedTimes(stage, profile, 4);
    expect([stage.starts, stage.pool.processCount]).toEqual([2, 2]);
    const third = stage.echo([], FOUR, "third-echo");
    await stage.connected(third);
    expect([stage.starts, stage.pool.processCount]).toEqual([3, 2]);
  });

  it("that dies while it starts is no fault of the session that waits for it", async () => {
    const stage = new Stage();
    const profile = stage.echo([], FOUR);
    await connectedTimes(stage, profile, 2);
    const spare = Promise.withResolvers<Result<never> | null>();
    stage.beforeStart = () => spare.promise;
    await connectedTimes(stage, profile, 2);
    expect(stage.starts).toBe(2);
    const waiting = stage.connected(profile);
    stage.beforeStart = async () => null;
    spare.resolve(fail("agent_exited_early", { profile, exit: "exit code 1" }));
    expect((await (await waiting).turn("say hi")).text).toBe("hi");
    expect(stage.starts).toBe(3);
  });

  it("P5: leaves nothing behind when the pool is shut down", async () => {
    const stage = new Stage();
    const held = new HeldStart();
    const profile = stage.echo(held.flags, FOUR);
    held.begin();
    await connectedTimes(stage, profile, 3);
    await stage.pool.shutdown();
    expect([stage.marks(), stage.pool.processCount]).toEqual([[], 0]);
  });

  it("P8: is for its tenant and user alone", async () => {
    const stage = new Stage();
    const profile = stage.echo([], FOUR);
    const ada = { tenantId: tenant("acme"), userId: parseUserId("ada") };
    for (let n = 0; n < 3; n += 1) await stage.connected(profile, ada);
    await expect.poll(() => stage.pool.processCount).toBe(2);
    await stage.connected(profile, { tenantId: tenant("globex") });
    expect(stage.starts).toBe(3);
  });
});

import { describe, expect, it } from "vitest";
import { AGENT_FAILURES_MAX, AGENT_STEADY_MS_MIN } from "../../core/limits.ts";
import { Stage, tenant } from "../bridge/bridge.fixture.ts";
import { HeldStart } from "../builtin/echo/held-start.fixture.ts";
import { holder, SecretFolder } from "../credential/credential.fixture.ts";
import { Credentials } from "../credential/credentials.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";

const oneEach = { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 1 } };
const several = { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 8 } };

describe("the pool", () => {
  it("puts as many sessions of a place into one process as the profile allows", async () => {
    const stage = new Stage();
    const profile = stage.echo([], { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 2 } });
    const hands = await Promise.all([1, 2, 3].map(() => stage.connected(profile)));
    expect(stage.pool.processCount).toBe(2);
    const texts = await Promise.all(hands.map((hand, n) => hand.turn(`say number ${n}`)));
    expect(texts.map(({ text }) => text)).toEqual(["number 0", "number 1", "number 2"]);
  });

  it("P8: never shares a process between tenants, workspaces or profiles", async () => {
    const stage = new Stage();
    const profile = stage.echo([], several);
    await stage.connected(profile);
    await stage.connected(profile, { tenantId: tenant("globex") });
    await stage.connected(profile, { workspace: "/tmp", cwd: "/tmp" });
    await stage.connected(stage.echo([], several, "other-echo"));
    expect(stage.pool.processCount).toBe(4);
  });

  it("P8: shares a process between users only if their keys and homes are the same", async () => {
    const folder = new SecretFolder({ "acme/KEY": "key-of-acme", "acme/cy/KEY": "key-of-cy" });
    const env = { KEY: { secret: "KEY" } };
    const stage = new Stage();
    stage.credentials = new Credentials({ files: folder.files, homes: null, env: {} });
    const profile = stage.echo([], { ...several, env });
    for (const user of ["ada", "ben", "cy"]) {
      await stage.connected(profile, { userId: holder("acme", user).userId });
    }
    expect(stage.pool.processCount).toBe(2);
    expect(stage.secrets).toEqual(expect.arrayContaining(["key-of-acme", "key-of-cy"]));
    const refused = await stage.refused(profile, holder("other", "eve"));
    expect(refused.code).toBe("agent_secret_missing");
    expect(stage.pool.processCount).toBe(2);
  });

  it("preheats: the first session finds its agent running", async () => {
    const stage = new Stage();
    const profile = stage.echo([], oneEach);
    const preheating = stage.pool.preheat(tenant("acme"), profile, stage.folder);
    await stage.connected(profile);
    await preheating;
    expect(stage.starts).toBe(1);
    await stage.pool.preheat(tenant("acme"), "nobody", stage.folder);
  });

  it("P5: ends an agent that nobody has used for a while", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, sessionsPerProcess: 1, idleMs: 20 };
    const hand = await stage.connected(stage.echo([], { limits }));
    await hand.session.close();
    await expect.poll(() => stage.marks()).toEqual([]);
    expect(stage.pool.processCount).toBe(0);
    expect(hand.ears.exits).toEqual([]);
  });

  it("loses only the sessions of the process that died", async () => {
    const stage = new Stage();
    const [first, second] = await Promise.all([
      stage.connected(stage.echo([], oneEach, "one")),
      stage.connected(stage.echo([], oneEach, "two")),
    ]);
    first.begin("crash");
    await first.ears.until(() => first.ears.exits.length === 1);
    expect((await second.turn("say alive")).text).toBe("alive");
    expect(second.ears.exits).toEqual([]);
  });

  it("P10: starts no agent over and over that cannot be started, and says why", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--exit-at-start", "3"]);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      expect((await stage.refused(profile)).code).toBe("agent_exited_early");
      stage.nowMs += 100_000;
    }
    stage.nowMs -= 100_000;
    const refusal = await stage.refused(profile);
    expect(refusal).toMatchObject({
      code: "agent_breaker_open",
      details: { failures: AGENT_FAILURES_MAX, reason: expect.stringMatching(/exit code 3/) },
    });
    expect(stage.starts).toBe(AGENT_FAILURES_MAX);
    stage.nowMs += 100_000;
    stage.echo(); // The operator has repaired the profile.
    await stage.connected(profile);
  });

  it("counts an agent that dies soon after its start as one that did not start", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      const hand = await stage.connected(profile);
      hand.begin("crash");
      await hand.ears.until(() => hand.ears.exits.length === 1);
      stage.nowMs += n === AGENT_FAILURES_MAX - 1 ? 0 : 100_000;
    }
    await expect.poll(async () => (await stage.refused(profile)).code).toBe("agent_breaker_open");
  });

  it("forgives what was before once an agent has been running for a while", async () => {
    const stage = new Stage();
    const profile = stage.echo(["--exit-at-start", "1"], oneEach);
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      await stage.refused(profile);
      stage.nowMs += 100_000;
    }
    stage.echo([], oneEach);
    await stage.connected(profile);
    stage.nowMs += AGENT_STEADY_MS_MIN;
    stage.echo(["--exit-at-start", "1"], oneEach);
    expect((await stage.refused(profile)).code).toBe("agent_exited_early");
    stage.echo([], oneEach);
    await stage.connected(profile);
  });

  it("P10: has no room beyond its memory, but makes some by ending what nobody uses", async () => {
    const stage = new Stage(1);
    const profile = stage.echo([], oneEach);
    const first = await stage.connected(profile);
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_capacity",
      details: { reason: expect.stringMatching(/memory/) },
    });
    await first.session.close();
    await stage.connected(stage.echo([], oneEach, "other-echo"));
    expect(stage.pool.processCount).toBe(1);
  });

  it("P10: gives an agent that has grown too large no further session", async () => {
    const stage = new Stage();
    const profile = stage.echo([], { limits: { ...DEFAULT_LIMITS, memoryBytes: 1 } });
    const first = await stage.connected(profile);
    const afterOneMore = async () => {
      await stage.connected(profile);
      return stage.pool.processCount;
    };
    await expect.poll(afterOneMore).toBe(2);
    expect((await first.turn("say still here")).text).toBe("still here");
  });

  it("P10: ends an agent that has grown too large with its last session", async () => {
    const stage = new Stage();
    const profile = stage.echo([], { limits: { ...DEFAULT_LIMITS, memoryBytes: 1 } });
    const hand = await stage.connected(profile);
    await hand.session.close();
    await expect.poll(() => stage.marks()).toEqual([]);
  });

  it("counts a session that is on its way once", async () => {
    const stage = new Stage();
    const profile = stage.echo([], { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 2 } });
    await stage.pool.preheat(tenant("acme"), profile, stage.folder);
    const first = stage.connected(profile);
    await new Promise(setImmediate);
    await Promise.all([first, stage.connected(profile)]);
    expect(stage.pool.processCount).toBe(1);
  });

  it("starts as many at once as are wanted", async () => {
    const stage = new Stage();
    const limits = { ...DEFAULT_LIMITS, sessionsPerProcess: 2 };
    const held = new HeldStart();
    const profile = stage.echo(held.flags, { limits });
    const hands = [1, 2, 3, 4, 5].map(() => stage.connected(profile));
    await expect.poll(() => stage.marks()).toHaveLength(3);
    expect(stage.pool.processCount).toBe(0);
    held.begin();
    await Promise.all(hands);
    expect(stage.starts).toBe(3);
  });

  it("gives nobody a process of a profile that was changed", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    await stage.connected(profile);
    stage.echo(["--no-modes"]);
    const hand = await stage.connected(profile);
    expect(hand.session.offer.modes).toBeNull();
    expect(stage.starts).toBe(2);
  });
});

describe("the pool's memory of failures", () => {
  it("P10: does not count an agent that was killed on purpose", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    for (let n = 0; n < AGENT_FAILURES_MAX + 1; n += 1) {
      await (await stage.connected(profile)).session.kill();
    }
    expect((await (await stage.connected(profile)).turn("say usable")).text).toBe("usable");
    expect(stage.starts).toBe(AGENT_FAILURES_MAX + 2);
  });

  it("ends with an agent that was running for a while, even when that is gone", async () => {
    const stage = new Stage();
    const bad = () => stage.echo(["--exit-at-start", "1"]);
    const profile = bad();
    for (let n = 0; n < AGENT_FAILURES_MAX - 1; n += 1) {
      await stage.refused(profile);
      stage.nowMs += 100_000;
    }
    stage.echo();
    const hand = await stage.connected(profile);
    stage.nowMs += AGENT_STEADY_MS_MIN;
    hand.begin("crash");
    await hand.ears.until(() => hand.ears.exits.length === 1);
    bad();
    expect((await stage.refused(profile)).code).toBe("agent_exited_early");
    expect((await stage.refused(profile)).code).toBe("agent_exited_early");
  });

  it("tells how an agent ended and what it said last", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    for (let n = 0; n < AGENT_FAILURES_MAX; n += 1) {
      stage.nowMs += 100_000;
      const hand = await stage.connected(profile);
      hand.begin("stderr no licence", "crash 7");
      await hand.ears.until(() => hand.ears.exits.length === 1);
    }
    expect(await stage.refused(profile)).toMatchObject({
      code: "agent_breaker_open",
      details: { reason: "exit code 7; it said: no licence" },
    });
  });
});

import { describe, expect, it } from "vitest";
import { codeOf, Ears, Stage, tenant } from "../bridge/bridge.fixture.ts";
import { HeldStart } from "../builtin/echo/held-start.fixture.ts";
import { DEFAULT_LIMITS } from "../profile/profile.ts";

const oneEach = { limits: { ...DEFAULT_LIMITS, sessionsPerProcess: 1 } };

/** It reads nothing for longer than any test takes. */
const NEVER_READY = ["--slow-start", "60000"];
const patient = { limits: { ...DEFAULT_LIMITS, startMs: 60_000 } };

/** The start has begun when there is a mark. */
const begun = (stage: Stage, count = 1) => expect.poll(() => stage.marks()).toHaveLength(count);

describe("an order that is given up", () => {
  it("leaves the process that was started for it alone to whoever tries again", async () => {
    const stage = new Stage();
    const held = new HeldStart();
    const abort = new AbortController();
    const ears = new Ears();
    const profile = stage.echo(held.flags);
    const connecting = stage.connect(profile, {}, ears, abort.signal);
    await begun(stage);
    abort.abort();
    expect(codeOf(await connecting)).toBe("agent_connect_aborted");
    expect(ears.statuses).toEqual([{ status: "created" }]);
    const again = stage.connected(profile);
    held.begin();
    expect((await (await again).turn("say hi")).text).toBe("hi");
    expect(stage.starts).toBe(1);
  });

  it("P5: leaves a process that ends after a while, if it is not tried again", async () => {
    const stage = new Stage();
    const held = new HeldStart();
    const abort = new AbortController();
    const profile = stage.echo(held.flags, { limits: { ...DEFAULT_LIMITS, idleMs: 50 } });
    const connecting = stage.connect(profile, {}, new Ears(), abort.signal);
    await begun(stage);
    abort.abort();
    await connecting;
    held.begin();
    await begun(stage, 0);
    expect(stage.pool.processCount).toBe(0);
  });

  it("P5: leaves nothing of a tenant that is dismissed", async () => {
    const stage = new Stage();
    const abort = new AbortController();
    const connecting = stage.connect(stage.echo(NEVER_READY), {}, new Ears(), abort.signal);
    await begun(stage);
    abort.abort();
    await connecting;
    await stage.pool.dismiss(tenant("acme"));
    expect(stage.marks()).toEqual([]);
  });

  it("leaves a process to whoever else waits for it", async () => {
    const stage = new Stage();
    const held = new HeldStart();
    const profile = stage.echo(held.flags);
    const abort = new AbortController();
    const givenUp = stage.connect(profile, {}, new Ears(), abort.signal);
    const other = stage.connected(profile);
    await begun(stage);
    abort.abort();
    expect(codeOf(await givenUp)).toBe("agent_connect_aborted");
    held.begin();
    expect((await (await other).turn("say hi")).text).toBe("hi");
    expect(stage.starts).toBe(1);
  });

  it("before it was begun starts nothing", async () => {
    const stage = new Stage();
    const connected = await stage.connect(stage.echo(), {}, new Ears(), AbortSignal.abort());
    expect(codeOf(connected)).toBe("agent_connect_aborted");
    expect(stage.starts).toBe(0);
  });

  it("while the session is being made is told nothing more, and its room is free", async () => {
    const stage = new Stage();
    const profile = stage.echo([], oneEach);
    await stage.pool.preheat(tenant("acme"), profile, stage.folder);
    const abort = new AbortController();
    const ears = new Ears();
    const past = {
      agentSessionId: null,
      async *messages() {
        abort.abort();
        yield { role: "user", text: "x" } as const;
      },
    };
    const connected = await stage.connect(profile, { past }, ears, abort.signal);
    expect(codeOf(connected)).toBe("agent_connect_aborted");
    await stage.connected(profile);
    expect(stage.starts).toBe(1);
    expect(ears.statuses).toEqual([{ status: "created" }]);
  });

  it("after it was fulfilled changes nothing", async () => {
    const stage = new Stage();
    const abort = new AbortController();
    const ears = new Ears();
    const connected = await stage.connect(stage.echo(), {}, ears, abort.signal);
    abort.abort();
    if (!connected.ok) expect.fail(connected.refusal.code);
    expect(await connected.value.setMode("plan")).toMatchObject({ ok: true });
  });
});

describe("P5: a pool that is shut down", () => {
  it("leaves nothing behind, and takes no more orders", async () => {
    const stage = new Stage();
    const profile = stage.echo([], oneEach);
    await Promise.all([stage.connected(profile), stage.connected(profile)]);
    const late = stage.pool.preheat(tenant("globex"), profile, stage.folder);
    await stage.pool.shutdown();
    await late;
    expect(stage.marks()).toEqual([]);
    expect((await stage.refused(profile)).code).toBe("agent_capacity");
  });

  it("does not wait for those who are still starting, and starts none for who waits", async () => {
    const stage = new Stage();
    const profile = stage.echo(NEVER_READY, {
      limits: { ...patient.limits, sessionsPerProcess: 1 },
    });
    const connecting = [1, 2, 3].map(() => stage.connect(profile));
    await begun(stage, 3);
    await stage.pool.shutdown();
    expect(stage.marks()).toEqual([]);
    const codes = (await Promise.all(connecting)).map(codeOf);
    expect(codes).toEqual(Array(3).fill("agent_capacity"));
    expect(stage.starts).toBe(3);
    expect(stage.pool.processCount).toBe(0);
  });

  it("does not start again for a session whose agent it has ended", async () => {
    const stage = new Stage();
    const profile = stage.echo();
    await stage.pool.preheat(tenant("acme"), profile, stage.folder);
    const past = {
      agentSessionId: null,
      async *messages() {
        await stage.pool.shutdown();
        yield { role: "user", text: "x" } as const;
      },
    };
    expect((await stage.refused(profile, { past })).code).toBe("agent_capacity");
    expect([stage.starts, stage.marks()]).toEqual([1, []]);
  });
});

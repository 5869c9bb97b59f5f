import { describe, expect, it } from "vitest";
import {
  CLIENT_IDLE_MS_MAX,
  SESSION_IDLE_MS,
  SESSION_REAP_MS,
  SESSIONS_LIVE_MAX,
} from "../../core/limits.ts";
import { SessionHost } from "../host.ts";
import { PlayedAgents, playedSession } from "../played-agents.fixture.ts";
import { ada, bob, NEVER, named, turn, withSession } from "../runtime.fixture.ts";
import { ANYBODY, promptOf, Stage, TENANT, value } from "../stage.fixture.ts";
import { CREATION, REAL_CLOCK } from "../world.fixture.ts";

const carol = named("carol");

describe("a sign of life", () => {
  it("P10: of names that the session does not know is not kept", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
    for (let n = 0; n < 50; n += 1) value(await runtime.heartbeat(key, named(`stranger-${n}`)));
    expect(live.attendance.present).toEqual([ada.clientId]);
    await runtime.shutDown(NEVER);
  });

  it("P10: counts at the cap: the one that was idle for longest makes room", async () => {
    const stage = await Stage.open();
    const runtime = new SessionHost({ ...stage.world, agents: new PlayedAgents() });
    const made = async () => {
      const key = { tenantId: TENANT, sessionId: stage.world.ids.session() };
      const creation = { ...CREATION, workspaceCwd: stage.folder };
      return value(await runtime.create({ key, creation, actor: ada })).live;
    };
    const first = await made();
    for (let n = 1; n < SESSIONS_LIVE_MAX; n += 1) await made();
    stage.aheadMs = 60_000;
    value(await runtime.heartbeat(first.key, ada));
    await made();
    expect(runtime.liveOf(TENANT)).toContain(first);
    await runtime.shutDown(NEVER);
  });

  it("is also the verdict of a long turn: its session is not idle right after it", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = (agent) => {
      stage.aheadMs = SESSION_IDLE_MS;
      agent.finish();
    };
    const { runtime, live } = await playedSession(stage, agents);
    await turn(live, "take long");
    await runtime.reapIdle();
    expect(runtime.liveOf(TENANT)).toEqual([live]);
    stage.aheadMs += SESSION_IDLE_MS;
    await runtime.reapIdle();
    expect(runtime.liveOf(TENANT)).toEqual([]);
    await runtime.shutDown(NEVER);
  });
});

describe("P10: a client that has shown no sign of life for a day", () => {
  it("is forgotten, and others are not", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
    value(await runtime.attach(key, bob));
    stage.aheadMs = CLIENT_IDLE_MS_MAX - 60_000;
    value(await runtime.heartbeat(key, bob));
    await runtime.reapIdle();
    expect([...live.session.clients.keys()]).toEqual([ada.clientId, bob.clientId]);
    stage.aheadMs = CLIENT_IDLE_MS_MAX;
    await runtime.reapIdle();
    expect([...live.session.clients.keys()]).toEqual([bob.clientId]);
    expect(live.attendance.present).toEqual([bob.clientId]);
    await runtime.shutDown(NEVER);
  });

  it("is so since its session was last at work, if this server has never seen it", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await playedSession(stage, new PlayedAgents());
    await runtime.shutDown(NEVER);
    stage.aheadMs = CLIENT_IDLE_MS_MAX;
    const next = new SessionHost({ ...stage.world, agents: new PlayedAgents() });
    const live = value(await next.attach(key, bob));
    await next.reapIdle();
    expect([...live.session.clients.keys()]).toEqual([bob.clientId]);
    await next.shutDown(NEVER);
  });
});

describe("who leaves", () => {
  it("without having been there takes the session from nobody", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
    value(await runtime.attach(key, bob));
    await runtime.ownerVanished(live, ada);
    value(await runtime.detach(key, carol.clientId, carol));
    expect(value(await runtime.find(key))).toBe(live);
    await runtime.shutDown(NEVER);
  });

  it("last does not take it while it is at work", async () => {
    const stage = await Stage.open();
    const { runtime, key, live } = await playedSession(stage, new PlayedAgents());
    value(await runtime.attach(key, bob));
    await runtime.ownerVanished(live, ada);
    await live.submit({ ...promptOf(live, "work"), actor: bob });
    value(await runtime.detach(key, bob.clientId, bob));
    expect(value(await runtime.find(key))).toBe(live);
    await runtime.shutDown(AbortSignal.abort());
  });

  it("last lets the session rest, though a client of an earlier server never left", async () => {
    const stage = await Stage.open();
    const { runtime, key } = await withSession(stage, ada);
    await runtime.shutDown(NEVER);
    const after = await Stage.open({ folder: stage.folder });
    const again = new SessionHost(after.world);
    const live = value(await again.attach(key, bob));
    expect([...live.session.clients.keys()]).toEqual([ada.clientId, bob.clientId]);
    value(await again.detach(key, bob.clientId, bob));
    expect(again.liveOf(TENANT)).toEqual([]);
    await again.shutDown(NEVER);
  });
});

describe("who joins a session that is just being made", () => {
  it("keeps it, though whoever made it vanishes at that moment", async () => {
    const stage = await Stage.open();
    const runtime = new SessionHost({ ...stage.world, agents: new PlayedAgents() });
    const creation = { ...CREATION, workspaceCwd: stage.folder, scope: "single" } as const;
    const keyed = () => ({ tenantId: TENANT, sessionId: stage.world.ids.session() });
    const vanishing = runtime
      .create({ key: keyed(), creation, actor: ANYBODY })
      .then((made) => runtime.ownerVanished(value(made).live, ada));
    const joined = value(await runtime.create({ key: keyed(), creation, actor: bob }));
    await vanishing;
    expect(joined.attached).toBe(true);
    expect(value(await runtime.find(joined.live.key))).toBe(joined.live);
    await runtime.shutDown(NEVER);
  });
});

describe("the watch for idle sessions", () => {
  it("ends with the server, also if that stops in the middle of a round", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    const rounds = new Set<() => void>();
    const after = (ms: number, act: () => void) => {
      if (ms !== SESSION_REAP_MS) return REAL_CLOCK.after(ms, act);
      rounds.add(act);
      return () => rounds.delete(act);
    };
    const clock = { nowMs: stage.world.clock.nowMs, after };
    const { runtime, live } = await playedSession(stage, agents, { clock });
    let close = () => {};
    agents.closing = new Promise((resolve) => {
      close = resolve;
    });
    stage.aheadMs = SESSION_IDLE_MS;
    const [round] = rounds;
    rounds.clear();
    round?.();
    await live.until(({ connection }) => connection.sessionState === "deactivating");
    const stopped = runtime.shutDown(NEVER);
    close();
    await stopped;
    // Nothing is left that the round could wait for, so it has ended by then.
    await new Promise((resolve) => setImmediate(resolve));
    expect(rounds.size).toBe(0);
  });
});

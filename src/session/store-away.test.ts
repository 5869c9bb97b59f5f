import { describe, expect, it } from "vitest";
import { SHUTDOWN_END_MS } from "../core/limits.ts";
import { fail } from "../core/result.ts";
import { AWAY, altered } from "./altered-store.fixture.ts";
import { shutDown } from "./life/ending.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { ada, withSession } from "./runtime.fixture.ts";
import { Stage, TENANT } from "./stage.fixture.ts";
import { REAL_CLOCK } from "./world.fixture.ts";

const HURRY = AbortSignal.abort();

/** A stage with a session, and a store that is away when it is told to be. */
async function staged() {
  const store = { isAway: false };
  const stage = await Stage.open({
    wrap: (real) =>
      altered(real, {
        commit: async (...args) => (store.isAway ? AWAY : real.commit(...args)),
        open: async (...args) => (store.isAway ? AWAY : real.open(...args)),
      }),
  });
  return { stage, store, hand: await stage.created() };
}

describe("while the store is away", () => {
  it("P10: nobody is kept waiting; whoever tries again when it is back is served", async () => {
    const { store, hand } = await staged();
    store.isAway = true;
    for (const displayName of ["one", "two", "three"]) {
      const { refusal } = await hand.say("metadata", { displayName });
      expect(refusal).toMatchObject({ code: "store_unavailable" });
    }
    store.isAway = false;
    const again = () => hand.say("metadata", { displayName: "four" });
    await expect.poll(async () => (await again()).refusal).toBeNull();
    expect(await hand.turn("say hello")).toMatchObject({ type: "turn_complete" });
  });

  it("P10: a shutdown ends, and says what it had to leave behind", async () => {
    const { stage, store, hand } = await staged();
    store.isAway = true;
    await hand.say("metadata", { displayName: "lost" });
    await shutDown(stage.world, stage.registry, HURRY);
    expect(stage.registry.all).toEqual([]);
    expect(stage.logs).toContain("session abandoned: its store does not answer");
  });

  it("P3: a stream that waits for a session that is lost meanwhile is refused", async () => {
    let loss = () => {};
    const lost = new Promise<void>((resolve) => {
      loss = resolve;
    });
    const store = { isAway: false };
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          commit: async (...args) => (store.isAway ? AWAY : real.commit(...args)),
          open: async (...args) => {
            if (!store.isAway) return real.open(...args);
            await lost;
            return fail("writer_lost");
          },
        }),
    });
    const { runtime, key, live } = await withSession(stage);
    store.isAway = true;
    await live.submit({ type: "metadata", atMs: Date.now(), actor: ada, displayName: "x" });
    const subscribing = runtime.subscribe(key, { after: null, epoch: null });
    loss();
    expect(await subscribing).toMatchObject({ refusal: { code: "writer_lost" } });
    store.isAway = false;
    await runtime.shutDown(HURRY);
  });
});

describe("a store that does not even answer", () => {
  it("P10: is waited for no longer than a shutdown has time", async () => {
    const store = { isSilent: false };
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          commit: (...args) => (store.isSilent ? SILENCE : real.commit(...args)),
        }),
    });
    const waits: number[] = [];
    const after = (ms: number, act: () => void) => {
      waits.push(ms);
      return REAL_CLOCK.after(ms === SHUTDOWN_END_MS ? 0 : ms, act);
    };
    const clock = { nowMs: REAL_CLOCK.nowMs, after };
    const { runtime } = await playedSession(stage, new PlayedAgents(), { clock });
    store.isSilent = true;
    await runtime.shutDown(HURRY);
    expect(waits).toContain(SHUTDOWN_END_MS);
    expect(runtime.liveOf(TENANT)).toEqual([]);
  });
});

const SILENCE = new Promise<never>(() => {});

import { describe, expect, it } from "vitest";
import { altered } from "./altered-store.fixture.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { ada, NEVER, withSession } from "./runtime.fixture.ts";
import { finishedShown, promptOf, Stage, value } from "./stage.fixture.ts";
import { sessionStats } from "./stats/stats.ts";

describe("P1: the figures of a session", () => {
  it("are told when all that they speak of is durable", async () => {
    const order: string[] = [];
    let gate: Promise<void> | null = null;
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          commit: async (...args) => {
            await gate;
            const committed = await real.commit(...args);
            order.push("durable");
            return committed;
          },
        }),
    });
    const agents = new PlayedAgents();
    const { runtime, live } = await playedSession(stage, agents);
    await live.submit(promptOf(live, "edit"));
    order.length = 0;
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const call = { toolCallId: "t1", title: "Edit", kind: "edit", status: "completed" };
    void agents.last.update({ sessionUpdate: "tool_call", ...call });
    const telling = sessionStats(stage.world, live).then((stats) => {
      order.push("told");
      return value(stats);
    });
    // A read that waits for nothing is answered before this one.
    await stage.world.store.readRecord(live.key);
    open();
    expect(await telling).toMatchObject({ tools: { totalCalls: 1 } });
    expect(order).toEqual(["durable", "told"]);
    await runtime.shutDown(AbortSignal.abort());
  });
});

describe("a replay", () => {
  it("P3: has no gap and no repeat though a turn ends while it is read", async () => {
    let meanwhile = async () => {};
    const stage = await Stage.open({
      wrap: (real) =>
        altered(real, {
          readRecord: async (key) => {
            await meanwhile();
            return real.readRecord(key);
          },
        }),
    });
    const { runtime, key, live } = await withSession(stage);
    await live.submit(promptOf(live, "say hello", "hang"));
    await live.until(({ connection }) => connection.turn.hasOutput);
    meanwhile = async () => {
      meanwhile = async () => {};
      await live.submit({ type: "cancel", atMs: Date.now(), actor: ada });
      await live.until(({ running }) => running === null);
    };
    const replay = value(await runtime.replay(key, "full"));
    expect(replay.lastEventId).toBeLessThan(live.lastEventId);
    const shown = JSON.stringify([...finishedShown(replay), ...replay.liveJournal]);
    expect(shown).toContain("hello");
    expect(shown).not.toContain("turn_complete");
    await runtime.shutDown(NEVER);
  });
});

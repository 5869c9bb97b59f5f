import { describe, expect, it } from "vitest";
import { altered } from "./altered-store.fixture.ts";
import { SessionHost } from "./host.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { NEVER, turn } from "./runtime.fixture.ts";
import { promptOf, Stage, value } from "./stage.fixture.ts";

const MIB = 1_024 * 1_024;

describe("a turn that is too large", () => {
  it("P2: to be remembered fails, once, and the session goes on", async () => {
    const stage = await Stage.open({
      wrap: (real) => {
        const { contract } = real;
        const capabilities = { ...contract.capabilities, snapshotBytesLimit: 200_000 };
        return altered(real, { contract: { ...contract, capabilities } });
      },
    });
    const hand = await stage.created();
    const failed = await hand.turn("chunks 30 10000");
    expect(failed).toMatchObject({ type: "turn_error", data: { code: "snapshot_too_large" } });
    expect(await hand.turn("say small")).toMatchObject({ type: "turn_complete" });
    expect(stage.interruptions).toEqual([]);
  });

  it("P10: in bytes is told to stop, however few its characters are", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = async (agent) => {
      for (let n = 0; n < 3; n += 1) await agent.say("\u4e2d".repeat(4 * MIB));
      agent.finish();
    };
    const { runtime, live } = await playedSession(stage, agents);
    await turn(live, "say much");
    expect(live.session.lastTurnError).toMatchObject({ code: "turn_too_large" });
    agents.play = (agent) => agent.finish();
    await turn(live, "say little");
    expect(stage.logs).not.toContain("session reopened");
    await runtime.shutDown(NEVER);
  });
});

describe("P10: the size of a turn", () => {
  it("is its own: what an earlier one said that nobody remembers is not counted", async () => {
    const stage = await Stage.open();
    const agents = new PlayedAgents();
    agents.play = async (agent) => {
      for (let n = 0; n < 3; n += 1) await agent.say("x".repeat(6 * MIB));
      await agent.update({ sessionUpdate: "tool_call", toolCallId: "t1" });
    };
    const { runtime, key, live } = await playedSession(stage, agents);
    await live.submit(promptOf(live, "say much"));
    await live.until(({ connection }) => connection.turn.pendingToolCalls.size === 1);
    await runtime.shutDown(AbortSignal.abort());

    const next = new SessionHost({ ...stage.world, agents });
    const again = value(await next.find(key));
    const { play } = agents;
    agents.play = async (agent, order) => {
      await play(agent, order);
      agent.finish();
    };
    await turn(again, "say much");
    expect(again.session.lastTurnError).toBeNull();
    await next.shutDown(NEVER);
  });
});

describe("large prompts that wait", () => {
  it("P10, P2: are refused together before they cost the turn at work its verdict", async () => {
    const stage = await Stage.open();
    const hand = await stage.created();
    const first = await hand.prompt("say begun", "hang");
    await stage.until(() => hand.text === "begun");
    const large = `# ${"y".repeat(9_000_000)}`;
    const second = await hand.prompt(large);
    const { refusal } = await hand.live.submit(promptOf(hand.live, large));
    expect(refusal).toMatchObject({ code: "prompts_too_large" });
    await hand.say("cancel", {});
    expect(await hand.verdict(first)).toMatchObject({ data: { stopReason: "cancelled" } });
    expect(await hand.verdict(second)).toMatchObject({ type: "turn_complete" });
    expect(stage.interruptions).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import type { ContentBlock } from "../core/agent-update.ts";
import { PlayedAgents, playedSession } from "./played-agents.fixture.ts";
import { NEVER } from "./runtime.fixture.ts";
import { ANYBODY, promptOf, Stage } from "./stage.fixture.ts";

const CONTENT: readonly ContentBlock[] = [
  { type: "text", text: "look" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
];

async function steered(agents: PlayedAgents) {
  const stage = await Stage.open();
  agents.canSteer = true;
  const { runtime, live } = await playedSession(stage, agents);
  await live.submit(promptOf(live, "work"));
  const { start: _start, ...prompt } = { ...promptOf(live), content: CONTENT };
  const word = { type: "steer", messageId: "m1", prompt, agentCanSteer: true } as const;
  const steer = async () =>
    (await live.submit({ ...word, atMs: Date.now(), actor: ANYBODY })).refusal;
  return { runtime, live, steer };
}

describe("a word in between with an image", () => {
  it("reaches the agent whole", async () => {
    const agents = new PlayedAgents();
    const { runtime, steer } = await steered(agents);
    expect(await steer()).toBeNull();
    expect(agents.last.steered).toEqual([CONTENT]);
    await runtime.shutDown(AbortSignal.abort());
  });
});

describe("P2: a word in between that comes too late for the agent", () => {
  it("waits as a prompt of its own, since it was taken", async () => {
    const agents = new PlayedAgents();
    const { runtime, live, steer } = await steered(agents);
    agents.isDeaf = true;
    expect(await steer()).toBeNull();
    const heard: unknown[] = [];
    agents.play = (agent, { content }) => {
      heard.push(content);
      agent.finish();
    };
    agents.last.finish();
    await live.until(({ totals }) => totals.turnsCompleted === 2);
    expect(agents.last.steered).toEqual([]);
    expect(heard).toEqual([CONTENT]);
    await runtime.shutDown(NEVER);
  });
});

import { describe, expect, it } from "vitest";
import { World } from "./world.fixture.ts";

/** What a shell does, again and again if it is to be seen for longer than one look. */
const agentThat = async (script: string) => {
  const world = new World();
  return world.started(world.profileOf("/bin/sh", ["-c", script]));
};

describe("an agent that is looked at", () => {
  it("is at work while it uses the processor, or a child of its does", async () => {
    const agent = await agentThat("(while :; do :; done) & wait");
    expect(await agent.isWorking()).toBe(true);
    await agent.kill();
  });

  it("is at work while it writes, be it to its error output", async () => {
    const agent = await agentThat("while sleep 0.1; do echo waiting >&2; done");
    expect(await agent.isWorking()).toBe(true);
    await agent.kill();
  });

  it("is not if it waits, or has ended", async () => {
    const agent = await agentThat("exec sleep 600");
    await expect.poll(() => agent.isWorking()).toBe(false);
    await agent.kill();
    expect(await agent.isWorking()).toBe(false);
  });
});

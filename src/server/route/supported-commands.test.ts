import { setImmediate as aMoment } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { SERVER } from "../../session/stage.fixture.ts";
import { SessionBeside } from "./beside.fixture.ts";

async function namesOf(beside: SessionBeside) {
  const { body } = await beside.get("/supported-commands");
  return Object(body.availableCommands).map((command: { name: string }) => command.name);
}

describe("GET /session/:id/supported-commands", () => {
  it("is none before the agent has offered any", async () => {
    const beside = await SessionBeside.open();
    const { status, body } = await beside.get("/supported-commands");
    expect(status).toBe(200);
    expect(body).toMatchObject({ v: 1, sessionId: beside.sessionId, availableSkills: [] });
    expect(body.availableCommands).toBeInstanceOf(Array);
  });

  it("is what the agent offered last: in a turn at work, in one before, and at rest", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("commands first,second");
    expect(await namesOf(beside)).toEqual(["first", "second"]);
    const { availableCommands } = (await beside.get("/supported-commands")).body;
    expect(Object(availableCommands)[0]).toMatchObject({
      name: "first",
      description: expect.any(String),
    });
    await beside.turn("say something else");
    expect(await namesOf(beside)).toEqual(["first", "second"]);
    const live = await beside.live();
    const running = beside.turn("commands third", "say I wait", "hang");
    while (String(await namesOf(beside)) !== "third") await aMoment();
    await live.submit({ type: "cancel", atMs: Date.now(), actor: SERVER });
    await running;
    await beside.rest();
    expect(await namesOf(beside)).toEqual(["third"]);
  });

  it("passes over what sub-agents offer, and over what is no command", async () => {
    const beside = await SessionBeside.open();
    const update = (commands: readonly unknown[], more: object = {}) => {
      const sessionUpdate = "available_commands_update";
      return `update ${JSON.stringify({ sessionUpdate, availableCommands: commands, ...more })}`;
    };
    const ours = update([{ name: "ours", input: { hint: "what" } }, "odd", { description: "x" }]);
    const theirs = update([{ name: "theirs" }], { _meta: { parentToolCallId: "t-1" } });
    await beside.turn(ours, theirs);
    const { body } = await beside.get("/supported-commands");
    expect(body.availableCommands).toEqual([{ name: "ours", input: { hint: "what" } }]);
  });
});

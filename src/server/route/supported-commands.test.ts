import { setImmediate as aMoment } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BUILT_IN_NAMES } from "../../core/slash/commands.ts";
import { SNAPSHOT } from "../../core/slash/snapshot.fixture.ts";
import { SERVER } from "../../session/stage.fixture.ts";
import { SessionBeside } from "./beside.fixture.ts";
import { Shelf, taught } from "./taught.fixture.ts";

/** The commands that are neither ours nor a skill's. */
async function ownOf(beside: SessionBeside) {
  const { body } = await beside.get("/supported-commands");
  const all: readonly { readonly name: string }[] = Object(body.availableCommands);
  return all.slice(all.findLastIndex(({ name }) => BUILT_IN_NAMES.has(name)) + 1);
}

async function namesOf(beside: SessionBeside) {
  return (await ownOf(beside)).map(({ name }) => name);
}

describe("GET /session/:id/supported-commands", () => {
  it("is ours, then the skills' aliases, and the skills by name", async () => {
    const shelf = Object.assign(new Shelf(), { skills: SNAPSHOT });
    const work = await taught(shelf);
    const { status, body } = await work.call("GET", "/supported-commands");
    expect(status).toBe(200);
    const availableSkills = SNAPSHOT.entries.map(({ skill_name }) => skill_name);
    expect(body).toMatchObject({ v: 1, sessionId: work.id, availableSkills });
    const all: readonly { readonly name: string }[] = Object(body.availableCommands);
    expect(all.map(({ name }) => name)).toEqual([...BUILT_IN_NAMES, "ci", "sh"]);
    const shape = { name: expect.any(String), description: expect.any(String) };
    for (const command of all) {
      expect(command).toMatchObject(shape);
      expect(command).toHaveProperty("input");
    }
  });

  it("is as the snapshot has it, whatever the files say by now", async () => {
    const shelf = Object.assign(new Shelf(), { skills: SNAPSHOT });
    const work = await taught(shelf);
    const before = await work.call("GET", "/supported-commands");
    shelf.skills = { entries: [], diagnostics: [] };
    expect((await work.call("GET", "/supported-commands")).body).toEqual(before.body);
  });

  it("has no name twice: ours and the skills' stand before the agent's", async () => {
    const shelf = Object.assign(new Shelf(), { skills: SNAPSHOT });
    const work = await taught(shelf);
    await work.turn("commands ci,help,init");
    const { body } = await work.call("GET", "/supported-commands");
    const all: readonly { readonly name: string }[] = Object(body.availableCommands);
    expect(all.map(({ name }) => name)).toEqual([...BUILT_IN_NAMES, "ci", "sh", "init"]);
  });

  it("is what the agent offered last: in a turn at work, in one before, and at rest", async () => {
    const beside = await SessionBeside.open();
    await beside.turn("commands first,second");
    expect(await namesOf(beside)).toEqual(["first", "second"]);
    expect((await ownOf(beside))[0]).toMatchObject({
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
    expect(await ownOf(beside)).toEqual([{ name: "ours", input: { hint: "what" } }]);
  });
});

import { describe, expect, it } from "vitest";
import { PS, processTable } from "./process-table.ts";
import { firstLine, isAlive, World } from "./world.fixture.ts";

describe.each([
  ["of this system", processTable()],
  ["that ps prints", PS],
])("the table of processes %s", (_name, table) => {
  it("shows a process with its mark, its group and its parent", async () => {
    const world = new World();
    const agent = await world.started(world.profile("obedient"));
    await firstLine(agent);
    const found = (await table.list("0")).find(({ pid }) => pid === agent.pid);
    expect(found).toMatchObject({ parent: process.pid, group: agent.pid, marker: agent.marker });
    expect(found?.startedAt).toBe(await table.startOf(agent.pid));
    await agent.end();
    expect(await table.startOf(agent.pid)).toBeNull();
    expect((await table.list("0")).some(({ pid }) => pid === agent.pid)).toBe(false);
  });

  it("shows ourselves", async () => {
    const own = (await table.list("0")).find(({ pid }) => pid === process.pid);
    expect(own).toMatchObject({ parent: process.ppid, isBlank: false });
    expect(isAlive(process.pid)).toBe(true);
  });
});

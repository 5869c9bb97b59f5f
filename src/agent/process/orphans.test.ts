import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thisProcess } from "../../platform/process-identity.ts";
import { type AgentMark, endOrphans } from "./marks.ts";
import { firstLine, isAlive, World } from "./world.fixture.ts";

const GONE = { ...thisProcess(), startedAt: "1" };

describe("P5: what a dead server has left behind", () => {
  it.each([
    ["before the mark", 0],
    ["between mark and spawn", 0],
    ["right after the spawn", 1],
    ["when all is written", 1],
  ] as const)("is ended if it died %s", async (moment, agents) => {
    const world = new World();
    await world.dyingServer(moment);
    expect(world.alive()).toHaveLength(agents);
    const report = await endOrphans(world.marksFolder);
    expect(report).toMatchObject({ ended: agents, notes: [] });
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });

  it("is ended with children that left the group or lost their parent", async () => {
    const world = new World();
    const server = world.server("when it is killed");
    await server.says("started");
    await server.kill();
    const report = await endOrphans(world.marksFolder);
    expect(report.notes).toEqual([]);
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });

  it("may still be on its way when it is looked for", async () => {
    const world = new World();
    const mark = writeMark(world, { server: GONE });
    // As after a fork: for a while it is there and carries no mark yet.
    const become = `sleep 0.3; FERMATA_AGENT_MARK=${mark.marker} exec sleep 600`;
    const late = spawn("sh", ["-c", become], { env: world.env });
    const exit = once(late, "exit");
    const ending = endOrphans(world.marksFolder, 60_000);
    expect(await exit).toEqual([null, "SIGKILL"]);
    expect(await ending).toEqual({ ended: 1, cleared: 1, notes: [] });
  });

  it("is known by pid and start where it shows no mark", async () => {
    const world = new World();
    const child = spawn("sleep", ["600"], { env: world.env, detached: true });
    const leader = { pid: child.pid ?? 0, startedAt: startOf(child.pid) };
    writeMark(world, { server: GONE, leader });
    const [report] = await Promise.all([endOrphans(world.marksFolder), once(child, "exit")]);
    expect(report).toEqual({ ended: 1, cleared: 1, notes: [] });
  });
});

describe("P5: not ended is", () => {
  it("who has the pid of a dead agent now", async () => {
    const world = new World();
    const stranger = await world.started(world.profile("obedient"));
    await firstLine(stranger);
    const leader = { pid: stranger.pid, startedAt: "1" };
    writeMark(world, { server: GONE, leader });
    expect(await endOrphans(world.marksFolder)).toEqual({ ended: 0, cleared: 1, notes: [] });
    expect(isAlive(stranger.pid)).toBe(true);
    await stranger.end();
  });

  it("who had the same pid and start in an earlier boot", async () => {
    const world = new World();
    const stranger = await world.started(world.profile("obedient"));
    await firstLine(stranger);
    const leader = { pid: stranger.pid, startedAt: startOf(stranger.pid) };
    writeMark(world, { server: { ...GONE, bootId: "earlier" }, leader });
    expect(await endOrphans(world.marksFolder)).toEqual({ ended: 0, cleared: 1, notes: [] });
    expect(isAlive(stranger.pid)).toBe(true);
    await stranger.end();
  });

  it("an agent whose server lives, here or on another machine", async () => {
    const world = new World();
    const agent = await world.started(world.profile("obedient"));
    await firstLine(agent);
    const elsewhere = writeMark(world, { server: { ...GONE, host: "elsewhere" } });
    expect(await endOrphans(world.marksFolder)).toEqual({ ended: 0, cleared: 0, notes: [] });
    expect(world.markFiles().toSorted()).toEqual(
      [`${agent.marker}.json`, `${elsewhere.marker}.json`].toSorted(),
    );
    expect(isAlive(agent.pid)).toBe(true);
    await agent.end();
  });
});

describe("a folder of marks", () => {
  it("need not be there", async () => {
    const nothing = { ended: 0, cleared: 0, notes: [] };
    expect(await endOrphans(join(new World().folder, "nowhere"))).toEqual(nothing);
  });

  it.each([
    ["empty", ""],
    ["cut off", '{"marker":"'],
    ["of another kind", '{"marker":"a","server":null}'],
    ["too large", JSON.stringify("x".repeat(10_000))],
    ["full of wrong values", `{"marker":"${randomUUID()}","server":{"pid":-1},"leader":7}`],
    ["another's", JSON.stringify(markOf({ server: GONE }))],
  ])("may have a file that is %s: it is put aside, and said", async (_how, text) => {
    const world = new World();
    mkdirSync(world.marksFolder);
    const name = `${randomUUID()}.json`;
    writeFileSync(join(world.marksFolder, name), text);
    const { notes } = await endOrphans(world.marksFolder);
    expect(notes).toEqual([expect.stringContaining(name)]);
    expect(readFileSync(join(world.marksFolder, `${name}.damaged`), "utf8")).toBe(text);
    expect(await endOrphans(world.marksFolder)).toMatchObject({ notes: [] });
  });

  it("is rid of drafts when their writer is gone, and not before", async () => {
    const world = new World();
    mkdirSync(world.marksFolder);
    const child = spawn("true");
    await once(child, "exit");
    const own = `${randomUUID()}.${process.pid}.draft`;
    for (const name of [own, `${randomUUID()}.${child.pid}.draft`]) {
      writeFileSync(join(world.marksFolder, name), "{");
    }
    await endOrphans(world.marksFolder);
    expect(world.markFiles()).toEqual([own]);
  });
});

function markOf(said: Pick<AgentMark, "server"> & Partial<AgentMark>): AgentMark {
  return { marker: randomUUID(), profile: "test", leader: null, ...said };
}

function writeMark(world: World, said: Pick<AgentMark, "server"> & Partial<AgentMark>) {
  const mark = markOf(said);
  mkdirSync(world.marksFolder, { recursive: true });
  writeFileSync(join(world.marksFolder, `${mark.marker}.json`), JSON.stringify(mark));
  return mark;
}

function startOf(pid = 0): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

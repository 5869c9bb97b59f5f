import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENT_SAID_CHARS_MAX } from "../../core/limits.ts";
import { AgentProcess } from "./process.ts";
import { firstLine, isAlive, World } from "./world.fixture.ts";

const SECRET = "sk-very-secret-0123456789";

describe("starting an agent", () => {
  it("refuses a command that is nowhere, and leaves no mark", async () => {
    const world = new World();
    const refused = await world.start(world.profileOf("no-such-agent"));
    const advice = expect.stringContaining("Install it, or correct the profile");
    const details = { profile: "test", command: "no-such-agent", advice };
    expect(refused).toEqual({ ok: false, refusal: { code: "agent_command_missing", details } });
    expect(await world.start(world.profileOf("/no/such/agent"))).toMatchObject({ ok: false });
    expect(world.markFiles()).toEqual([]);
  });

  it("refuses a file that is not executable, or is none", async () => {
    const world = new World();
    writeFileSync(join(world.folder, "agent"), "#!/bin/sh\n", { mode: 0o600 });
    const refused = await world.start(world.profileOf(join(world.folder, "agent")));
    const code = "agent_command_forbidden";
    expect(refused).toMatchObject({
      refusal: { code, details: { reason: expect.stringContaining("not executable") } },
    });
    const folder = await world.start(world.profileOf(world.folder));
    expect(folder).toMatchObject({
      refusal: { code, details: { reason: expect.stringContaining("no file") } },
    });
  });

  it("tells a missing interpreter from a missing command, and takes its mark back", async () => {
    const world = new World();
    writeFileSync(join(world.folder, "agent"), "#!/no/such/interpreter\n", { mode: 0o700 });
    const refused = await world.start(world.profileOf(join(world.folder, "agent")));
    const code = "agent_command_forbidden";
    expect(refused).toMatchObject({
      refusal: { code, details: { reason: expect.stringContaining("interpreter") } },
    });
    expect(world.markFiles()).toEqual([]);
  });

  it("says that its directory is missing, or is none", async () => {
    const world = new World();
    const nowhere = { ...world.profileOf("sleep", ["600"]), cwd: join(world.folder, "nowhere") };
    const code = "file_unavailable";
    const details = { path: nowhere.cwd, reason: "there is no such directory" };
    expect(await world.start(nowhere)).toMatchObject({ refusal: { code, details } });
    writeFileSync(join(world.folder, "file"), "");
    const file = { ...nowhere, cwd: join(world.folder, "file") };
    expect(await world.start(file)).toMatchObject({ refusal: { code } });
  });

  it("P5: starts nothing where no mark can be written", async () => {
    const world = new World();
    writeFileSync(world.marksFolder, "a file where the folder should be");
    const refused = await world.start(world.profileOf("sleep", ["600"]));
    const details = { reason: expect.stringContaining("mark") };
    expect(refused).toMatchObject({ refusal: { code: "agent_capacity", details } });
    expect(world.alive()).toEqual([]);
  });
});

describe("an agent's last words", () => {
  it("are told when it exits at once, with how it ended", async () => {
    const world = new World();
    const agent = await world.started(world.profile("complain", "usage: agent --acp\r\n"));
    expect(await agent.exited).toEqual({ exitCode: 3, signalCode: null });
    expect(agent.errorOutput.excerpt()).toBe("usage: agent --acp");
    expect(world.markFiles()).toEqual([]);
    await agent.end();
  });

  it("P10: are bounded however much it writes", async () => {
    const world = new World();
    const agent = await world.started(world.profile("flood"));
    expect(await firstLine(agent)).toBe("ready");
    await agent.end();
    expect(agent.errorOutput.excerpt()).toMatch(/line 99999 x+$/);
    expect(agent.errorOutput.excerpt().length).toBeLessThanOrEqual(AGENT_SAID_CHARS_MAX);
  });

  it("P11: have no secret that it was given", async () => {
    const world = new World();
    const profile = world.profile("complain", `bad key \u001b[31m${SECRET}\u001b[0m!`);
    const env = { ...profile.env, API_KEY: { from: "THE_KEY" } };
    const serverEnv = { PATH: process.env.PATH, THE_KEY: SECRET };
    const agent = await world.started({ ...profile, env }, serverEnv);
    await agent.exited;
    expect(agent.errorOutput.excerpt()).toBe("bad key [redacted]!");
    await agent.end();
  });
});

describe("ending an agent", () => {
  it("begins with the end of its input", async () => {
    const world = new World();
    const agent = await world.started(world.profile("obedient"));
    expect(await firstLine(agent)).toBe("ready");
    expect(await agent.end()).toEqual({ exitCode: 0, signalCode: null });
    expect(world.markFiles()).toEqual([]);
  });

  it("goes on by asking", async () => {
    const world = new World();
    const agent = await world.started(world.profile("polite"));
    expect(await firstLine(agent)).toBe("ready");
    expect(await agent.end()).toEqual({ exitCode: 7, signalCode: null });
  });

  it("P5: ends by force where nothing else helps", async () => {
    const world = new World();
    const agent = await world.started(world.profile("stubborn"));
    expect(await firstLine(agent)).toBe("ready");
    expect(await agent.end()).toEqual({ exitCode: null, signalCode: "SIGKILL" });
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });

  it("is one end, however often it is asked for", async () => {
    const world = new World();
    const agent = await world.started(world.profile("stubborn"));
    await firstLine(agent);
    const first = agent.end();
    expect(agent.end()).toBe(first);
    expect(await agent.kill()).toEqual({ exitCode: null, signalCode: "SIGKILL" });
    expect(await agent.exited).toEqual(await first);
    expect(await agent.end()).toEqual(await first);
  });

  it("P5: takes along its children, those in its group and those that left it", async () => {
    const world = new World();
    const agent = await world.started(world.profile("family", "stay"));
    const children: readonly number[] = JSON.parse(await firstLine(agent));
    expect(children.map(isAlive)).toEqual([true, true]);
    await agent.end();
    expect(children.map(isAlive)).toEqual([false, false]);
    expect(world.alive()).toEqual([]);
    expect(world.markFiles()).toEqual([]);
  });

  it("P5: takes them along when it exits by itself, though they hold its output", async () => {
    const world = new World();
    const agent = await world.started(world.profile("family"));
    const children: readonly number[] = JSON.parse(await firstLine(agent));
    expect(await agent.exited).toEqual({ exitCode: 0, signalCode: null });
    expect(children.map(isAlive)).toEqual([false, false]);
    expect(world.markFiles()).toEqual([]);
    await agent.end();
    expect(agent.stdout.destroyed).toBe(true);
  });

  it("P5: takes along a child that threw its mark away, as long as it has its parent", async () => {
    const world = new World();
    const agent = await world.started(world.profile("scrub"));
    const [child = 0]: readonly number[] = JSON.parse(await firstLine(agent));
    expect(isAlive(child)).toBe(true);
    await agent.kill();
    expect(isAlive(child)).toBe(false);
  });

  it("P5: can be seen from outside, for as long as it lives, by its mark alone", async () => {
    const world = new World();
    const agent = await world.started(world.profile("obedient"));
    await firstLine(agent);
    expect(world.markFiles()).toContain(`${agent.marker}.json`);
    expect(statSync(world.marksFolder).mode & 0o777).toBe(0o700);
    const path = join(world.marksFolder, `${agent.marker}.json`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await agent.kill();
    expect(world.markFiles()).toEqual([]);
  });
});

describe("P11: the mark of an agent", () => {
  it("has nothing of its arguments or environment", async () => {
    const world = new World();
    const profile = world.profile("obedient", "--an-argument");
    const env = { ...profile.env, API_KEY: { from: "THE_KEY" } };
    const serverEnv = { PATH: process.env.PATH, THE_KEY: SECRET };
    const agent = await world.started({ ...profile, env }, serverEnv);
    await firstLine(agent);
    const text = readFileSync(join(world.marksFolder, `${agent.marker}.json`), "utf8");
    expect(Object.keys(JSON.parse(text))).toEqual(["marker", "profile", "server", "leader"]);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain("an-argument");
    await agent.end();
  });
});

describe("the memory of an agent", () => {
  it("P10: is that of all its processes", async () => {
    const world = new World();
    const alone = await world.started(world.profile("obedient"));
    const family = await world.started(world.profile("family", "stay"));
    await Promise.all([firstLine(alone), firstLine(family)]);
    const [less, more] = (await AgentProcess.memoryOf([alone, family])) ?? [];
    expect(less).toBeGreaterThan(10_000_000);
    expect(more).toBeGreaterThan(less ?? 0);
    await Promise.all([alone.end(), family.end()]);
    expect(await AgentProcess.memoryOf([alone])).toEqual([0]);
  });
});

describe("a mark that cannot be taken away", () => {
  it("keeps nobody waiting", async () => {
    const world = new World();
    const agent = await world.started(world.profile("obedient"));
    await firstLine(agent);
    const path = join(world.marksFolder, `${agent.marker}.json`);
    rmSync(path);
    mkdirSync(path);
    expect(await agent.end()).toEqual({ exitCode: 0, signalCode: null });
  });
});

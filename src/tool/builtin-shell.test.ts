import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { AgentMarks, endOrphans } from "../agent/process/marks.ts";
import { StillTime } from "../agent/still-time.fixture.ts";
import { TOOL_ANSWER_CHARS_MAX } from "../core/limits.ts";
import { shellTool } from "./builtin.ts";
import { FOREVER, isAlive, newWorld, type World } from "./workspace.fixture.ts";

const SERVER = fileURLToPath(new URL("shell-server.fixture.ts", import.meta.url));
const environment = { PATH: process.env.PATH ?? "" };

function run(world: World, command: string, signal = FOREVER, limitMs = 60_000) {
  const shell = shellTool({ environment, marks: world.marks, limitMs });
  return shell.run({ command }, world.place, signal);
}

/** The numbers that a command writes into a file of the workspace, once there are so many. */
async function pidsIn({ place }: World, count: number): Promise<readonly number[]> {
  const lines = () => readFileSync(join(place.cwd, "pids"), "utf8").split("\n").filter(Boolean);
  await expect.poll(lines).toHaveLength(count);
  return lines().map(Number);
}

async function alive(pids: readonly number[]) {
  return Promise.all(pids.map(isAlive));
}

describe("shell", () => {
  it("takes the words as its command, which is what people allow", async () => {
    const { marks, place } = await newWorld();
    const shell = shellTool({ environment, marks });
    expect(shell.callOf(" ls -l\n", place)).toEqual({
      ok: true,
      value: {
        name: "shell",
        title: "ls -l",
        kind: "execute",
        input: { command: "ls -l" },
        locations: [],
      },
    });
    expect(shell.callOf("{ echo a; }", place)).toMatchObject({
      value: { input: { command: "{ echo a; }" } },
    });
    expect(shell.callOf('{"command": "pwd"}', place)).toMatchObject({
      value: { input: { command: "pwd" } },
    });
  });

  it.each(["", "  ", "a\0b", "{}", '{"command": ["ls"]}', '{"command": "ls", "cwd": "/"}'])(
    "refuses %j as input",
    async (words) => {
      const { marks, place } = await newWorld();
      const refused = shellTool({ environment, marks }).callOf(words, place);
      expect(refused).toMatchObject({ refusal: { code: "tool_input_invalid" } });
    },
  );

  it("answers with both outputs in order, in the session's directory", async () => {
    const world = await newWorld();
    const at = { ...world, place: { ...world.place, cwd: join(world.place.cwd, "src") } };
    const answer = await run(at, "echo one; echo two >&2; echo three; pwd; echo $PWD");
    const lines = ["one", "two", "three", at.place.cwd, at.place.cwd];
    expect(answer).toEqual({ isError: false, text: lines.join("\n") });
  });

  it("says of a command that failed how it ended, after what it said", async () => {
    const world = await newWorld();
    expect(await run(world, "echo no; exit 3")).toEqual({
      isError: true,
      text: "no\n[exit code 3]",
    });
    expect(await run(world, "kill -9 $$")).toEqual({ isError: true, text: "[ended by SIGKILL]" });
    expect(await run(world, "true")).toEqual({ isError: false, text: "[no output]" });
  });

  it("P10: keeps the end of a flood, and says that the beginning is missing", async () => {
    const { isError, text } = await run(await newWorld(), "yes | head -c 9000000; echo last");
    expect(isError).toBe(false);
    expect(text).toMatch(/^\[the beginning of the output was left out\]\n/);
    expect(text).toMatch(/\nlast$/);
    expect(text.length).toBeLessThanOrEqual(TOOL_ANSWER_CHARS_MAX);
  });

  it("P11: gives a command none of the server's secrets, and no input", async () => {
    vi.stubEnv("SOME_API_KEY", "sk-not-for-commands");
    const { text } = await run(await newWorld(), "env; cat");
    vi.unstubAllEnvs();
    expect(text).not.toContain("sk-not-for-commands");
    expect(text).toContain("FERMATA_AGENT_MARK=");
  });

  it.each([
    ["is missing", "missing", /no such directory/],
    ["is outside", "../outside", /not inside the workspace/],
    ["leads outside", "link", /not inside the workspace/],
  ])("does not run in a directory that %s", async (_, name, reason) => {
    const world = await newWorld();
    symlinkSync(world.outside, join(world.place.cwd, "link"));
    const at = { ...world, place: { ...world.place, cwd: join(world.place.cwd, name) } };
    const answer = await run(at, "echo ran");
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(reason) });
    expect(readdirSync(world.marksFolder)).toEqual([]);
  });

  it("P5: leaves nothing behind when it ends, not even who left its group", async () => {
    const world = await newWorld();
    const command = "sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; echo done";
    expect(await run(world, command)).toEqual({ isError: false, text: "done" });
    expect(await alive(await pidsIn(world, 2))).toEqual([false, false]);
    expect(readdirSync(world.marksFolder)).toEqual([]);
  });

  it("P5: ends with everything it started when it is called off", async () => {
    const world = await newWorld();
    const stop = new AbortController();
    const stubborn = "trap '' TERM; echo begun; sleep 1000 & echo $! >> pids";
    const command = `${stubborn}; setsid sleep 1000 & echo $! >> pids; echo $$ >> pids; wait; wait`;
    const running = run(world, command, stop.signal);
    const pids = await pidsIn(world, 3);
    expect(await alive(pids)).toEqual([true, true, true]);
    stop.abort();
    expect(await running).toEqual({ isError: true, text: "begun\n[it was cancelled]" });
    expect(await alive(pids)).toEqual([false, false, false]);
    expect(readdirSync(world.marksFolder)).toEqual([]);
  });

  it("is asked to end before it is ended, and its last words are heard", async () => {
    const world = await newWorld();
    const stop = new AbortController();
    const command = "trap 'echo bye; exit' TERM; echo $$ >> pids; sleep 1000 & wait";
    const running = run(world, command, stop.signal);
    await pidsIn(world, 1);
    stop.abort();
    expect(await running).toEqual({ isError: true, text: "bye\n[it was cancelled]" });
  });

  it("does not begin when it was called off before", async () => {
    const world = await newWorld();
    const answer = await run(world, ": > ran", AbortSignal.abort());
    expect(answer).toEqual({ isError: true, text: "It was cancelled." });
    expect(existsSync(join(world.place.cwd, "ran"))).toBe(false);
  });

  it("ends a command whose time is up, and keeps what it said", async () => {
    const world = await newWorld();
    const time = new StillTime();
    const running = run(world, "echo begun; echo $$ >> pids; sleep 1000", FOREVER, 60_000);
    await pidsIn(world, 1);
    await time.pass(60_000);
    const text = "begun\n[it was ended after 60 seconds]";
    expect(await running).toEqual({ isError: true, text });
  });

  it("P5: runs nothing that could not be noted down", async () => {
    const world = await newWorld();
    const marks = new AgentMarks("/dev/null/marks");
    const answer = await run({ ...world, marks }, ": > ran");
    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringMatching(/mark could not be written/),
    });
    expect(existsSync(join(world.place.cwd, "ran"))).toBe(false);
  });

  it("P5: of a server that was killed is ended by the next one", async () => {
    const world = await newWorld();
    const command = "sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; wait";
    const server = spawn(process.execPath, [SERVER, world.marksFolder, world.place.cwd, command]);
    const ended = once(server, "exit");
    const pids = await pidsIn(world, 2);
    server.kill("SIGKILL");
    await ended;
    expect(await alive(pids)).toEqual([true, true]);
    expect(await endOrphans(world.marksFolder)).toMatchObject({ cleared: 1, notes: [] });
    expect(await alive(pids)).toEqual([false, false]);
    expect(readdirSync(world.marksFolder)).toEqual([]);
  });
});

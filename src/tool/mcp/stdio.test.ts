import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { endOrphans } from "../../agent/process/marks.ts";
import { StillTime } from "../../agent/still-time.fixture.ts";
import { MCP_PAGES_MAX, TOOL_ANSWER_CHARS_MAX } from "../../core/limits.ts";
import { type Bench, namesOf, openBench, script } from "../tools.fixture.ts";
import { FOREVER, isAlive, newWorld } from "../workspace.fixture.ts";
import type { McpTimeouts } from "./link.ts";

const OWNER = fileURLToPath(new URL("stdio-owner.fixture.ts", import.meta.url));
const SECRET = "sk-very-secret-value";

/** A script of these flags as the only server, `s`. */
function bench(flags: readonly string[] = [], timeouts: Partial<McpTimeouts> = {}): Promise<Bench> {
  return openBench((world) => ({
    servers: [script(world, "s", flags, { CRASH_SECRET: SECRET, API_TOKEN: SECRET })],
    timeouts,
  }));
}

const callsIn = (journal: readonly string[]) =>
  journal.filter((line) => line === "tools/call").length;

/** The same server again, as soon as it may be tried again. */
async function again(act: () => Promise<void>): Promise<void> {
  await expect.poll(() => act().then(() => "so")).toBe("so");
}

async function refusalOf({ tools, world }: Bench, name: string, words = "") {
  const call = await tools.callOf(name, words, world.place);
  return call.ok ? expect.fail("it was taken") : call.refusal;
}

async function gone(pids: readonly number[]): Promise<void> {
  expect(await Promise.all(pids.map(isAlive))).toEqual(pids.map(() => false));
}

describe("an MCP server that is a command", () => {
  it("is started when it is first used, once for all, and asked for its tools once", async () => {
    const { tools, journal, say } = await bench();
    expect(journal()).toEqual([]);
    const [first, second] = await Promise.all([tools.list(), tools.list()]);
    expect(first).toEqual(second);
    expect(first).toContainEqual({ name: "s:echo", description: "What echo does" });
    expect(await say("s:echo", "hello there")).toBe("hello there");
    expect(await say("s:echo", '{"text": "ab", "times": 2}')).toBe("abab");
    const counts = (line: string) => journal().filter((one) => one.startsWith(line)).length;
    expect([counts("start"), counts("initialize"), counts("tools/list")]).toEqual([1, 1, 1]);
  });

  it("is asked for nothing by a call that is only being looked at", async () => {
    const { tools, world, journal } = await bench();
    const read = await tools.callOf("s:echo", "x", world.place);
    const other = await tools.callOf("s:pid", "", world.place);
    const common = { ok: true, value: { name: "s:echo", title: "s:echo", locations: [] } };
    expect(read).toMatchObject({ ...common, value: { kind: "read", input: { text: "x" } } });
    expect(other).toMatchObject({ value: { kind: "other", input: {} } });
    expect(journal()).not.toContain("tools/call");
  });

  it("refuses words that its tool does not take, and names that it does not have", async () => {
    const world = await bench();
    expect(await refusalOf(world, "s:echo", "{}")).toMatchObject({ code: "tool_input_invalid" });
    expect(await refusalOf(world, "s:pid", "words")).toMatchObject({ code: "tool_input_invalid" });
    expect(await refusalOf(world, "s:nothing")).toMatchObject({ code: "tool_unknown" });
  });

  it("may tell its tools in pages, and odd ones harm no other", async () => {
    const plain = namesOf(await (await bench()).tools.list());
    const paged = namesOf(await (await bench(["--pages", "--odd-tools"])).tools.list());
    expect(paged).toEqual(plain);
  });

  it("P10: is not asked for ever if its pages have no end", async () => {
    const { tools, journal } = await bench(["--endless"]);
    expect(namesOf(await tools.list())).toContain("s:echo");
    expect(journal().filter((line) => line === "tools/list")).toHaveLength(MCP_PAGES_MAX);
  });

  it("is asked again when it says that its tools have changed", async () => {
    const { tools, say } = await bench();
    expect(namesOf(await tools.list())).not.toContain("s:grown");
    expect(await say("s:grow")).toBe("grew");
    expect(namesOf(await tools.list())).toContain("s:grown");
    expect(await say("s:grown")).toBe("grown up");
  });

  it("answers in texts; what is none is named, and an error stays one", async () => {
    const { say } = await bench();
    const lines = [
      "one",
      "[image (image/png) was left out]",
      "[link to file:///a]",
      "embedded",
      "[an unreadable block was left out]",
    ];
    expect(await say("s:mixed")).toBe(lines.join("\n"));
    expect(await say("s:structured")).toBe('{"a":1}');
    expect(await say("s:failing")).toBe("error: it broke");
  });

  it("P10: has its answer cut where it is too long", async () => {
    const text = await (await bench()).say("s:huge");
    expect(text).toMatch(/\n\[934464 more characters were left out\]$/);
    expect(text.length).toBeLessThan(TOOL_ANSWER_CHARS_MAX + 100);
  });

  it("P11: gets no more of the environment than it has to, and repeats no secret", async () => {
    vi.stubEnv("SOME_API_KEY", "sk-of-the-server");
    const { say, secrets } = await bench();
    const text = await say("s:variables");
    vi.unstubAllEnvs();
    expect(text).toContain('"API_TOKEN":"[redacted]"');
    expect(text).not.toMatch(/sk-of-the-server|sk-very-secret/);
    expect(secrets).toEqual([SECRET]);
  });

  it("may print other things between its messages", async () => {
    expect(await (await bench(["--noisy"])).say("s:echo", "x")).toBe("x");
  });
});

describe("an MCP server that fails", () => {
  it("at its start has no tools, and a reason that is logged once, without secrets", async () => {
    const world = await bench(["--dead"]);
    expect(namesOf(await world.tools.list())).toHaveLength(3);
    expect(namesOf(await world.tools.list())).toHaveLength(3);
    const refused = await refusalOf(world, "s:echo", "x");
    expect(refused.code).toBe("tool_unavailable");
    expect(refused.details.reason).toBe("exit code 2; it said: cannot live with [redacted]");
    expect(world.tools.problems()).toEqual([{ server: "s", reason: refused.details.reason }]);
    expect(world.logged).toHaveLength(1);
    expect(JSON.stringify(world.logged)).not.toContain(SECRET);
  });

  it("P11: has no part of a secret in its reason, wherever its last words are cut", async () => {
    const { tools } = await bench(["--dead-long"]);
    await tools.list();
    const [problem = expect.fail()] = tools.problems();
    expect(problem.reason).toMatch(/^exit code 2; it said: edacted\]x+$/);
  });

  it("P11: has no secret in its refusals", async () => {
    const { tools, world } = await bench();
    const name = `s:${SECRET}`;
    const call = { name, title: "", kind: "other", input: {}, locations: [] } as const;
    const { text } = await tools.run(call, world.place, FOREVER);
    expect(text).toBe(
      'The tool "s:[redacted]" gave no answer: MCP error -32602: no tool [redacted]',
    );
  });

  it("to exist is told as such", async () => {
    const { tools } = await openBench(() => ({
      servers: [{ name: "s", type: "stdio", command: "no-such-command", args: [], env: {} }],
    }));
    await tools.list();
    const reason = 'there is no command "no-such-command"';
    expect(tools.problems()).toEqual([{ server: "s", reason }]);
  });

  it("to introduce itself is given up and ended", async () => {
    const world = await bench(["--mute"], { connectMs: 1_000, patienceMs: 2_000 });
    const time = new StillTime();
    const listing = world.tools.list();
    await expect.poll(() => world.journal()).toContain("initialize");
    await time.pass(1_000);
    expect(namesOf(await listing)).toHaveLength(3);
    const [start = ""] = world.journal();
    await gone([Number(start.replace("start ", ""))]);
    expect(world.tools.problems()).toMatchObject([
      { reason: expect.stringMatching(/time|within/) },
    ]);
  });

  it("to be there soon is not waited for, and has its tools later", async () => {
    const { tools } = await bench([], { patienceMs: 1 });
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(tools.problems()).toMatchObject([{ reason: expect.stringMatching(/within 1 ms/) }]);
    await again(async () => {
      expect(namesOf(await tools.list())).toContain("s:echo");
    });
    expect(tools.problems()).toEqual([]);
  });

  it("to list its tools is told by its own words", async () => {
    const { tools } = await bench(["--no-list"]);
    expect(namesOf(await tools.list())).toHaveLength(3);
    expect(tools.problems()).toMatchObject([{ reason: expect.stringMatching(/no list today/) }]);
  });

  it("in the midst of a call answers that, and is there again for the next", async () => {
    const { say, tools, journal, logged } = await bench();
    const lost =
      'The tool "s:crash" gave no answer: exit code 3; it said: giving up with [redacted]';
    expect(await say("s:crash")).toBe(`error: ${lost}`);
    expect(logged).toHaveLength(1);
    expect(await say("s:echo", "again")).toBe("again");
    expect(tools.problems()).toEqual([]);
    expect(journal().filter((line) => line.startsWith("start"))).toHaveLength(2);
  });

  it("to answer in time is ended if nobody else uses it", async () => {
    const { say, journal } = await bench([], { callMs: 60_000 });
    const pid = Number(await say("s:pid"));
    const time = new StillTime();
    const running = say("s:slow");
    await again(async () => expect(callsIn(journal())).toBe(2));
    await time.pass(60_000);
    expect(await running).toMatch(/^error: The tool "s:slow" gave no answer: .*timed out/);
    await again(async () => expect(await isAlive(pid)).toBe(false));
    expect(Number(await say("s:pid"))).not.toBe(pid);
  });
});

describe("a call to an MCP server that is called off", () => {
  it("is answered at once, and the server is told", async () => {
    const { say, journal } = await bench();
    const pid = await say("s:pid");
    const stop = new AbortController();
    const running = say("s:slow", "", stop.signal);
    await again(async () => expect(callsIn(journal())).toBe(2));
    stop.abort();
    expect(await running).toMatch(/^error: .*cancelled$/);
    await again(async () => expect(journal()).toContain("notifications/cancelled"));
    expect(await say("s:pid")).toBe(pid);
  });

  it("before it began reaches nobody", async () => {
    const { say, journal } = await bench();
    expect(await say("s:pid", "", AbortSignal.abort())).toMatch(/cancelled/);
    expect(journal()).not.toContain("tools/call");
  });
});

describe("P5: an MCP server that is a command", () => {
  it("ends with all that it started when the tools are closed", async () => {
    const { say, tools, world } = await bench(["--stubborn"]);
    const pids: number[] = JSON.parse(await say("s:family"));
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true, true]);
    expect(readdirSync(world.marksFolder)).toHaveLength(1);
    await tools.close();
    await gone(pids);
    expect(readdirSync(world.marksFolder)).toEqual([]);
  });

  it("ends when the tools are closed while it is still starting", async () => {
    const { tools, journal, world } = await bench(["--mute"]);
    const listing = tools.list();
    await again(async () => expect(journal()).toContain("initialize"));
    await tools.close();
    expect(readdirSync(world.marksFolder)).toEqual([]);
    expect(namesOf(await listing)).toHaveLength(3);
    expect(tools.problems()).toEqual([]);
  });

  it("is not started any more once the tools are closed", async () => {
    const { tools, world, journal } = await bench();
    await tools.close();
    expect(await tools.callOf("s:echo", "x", world.place)).toMatchObject({ ok: false });
    const call = { name: "s:echo", title: "", kind: "other", input: {}, locations: [] } as const;
    expect(await tools.run(call, world.place, FOREVER)).toMatchObject({ isError: true });
    expect(journal()).toEqual([]);
  });

  it("is let go when nobody uses it, keeps its tools, and comes back for a call", async () => {
    const { say, tools } = await bench([], { idleMs: 50 });
    const pid = Number(await say("s:pid"));
    await again(async () => expect(await isAlive(pid)).toBe(false));
    expect(namesOf(await tools.list())).toContain("s:echo");
    expect(tools.problems()).toEqual([]);
    expect(Number(await say("s:pid"))).not.toBe(pid);
  });

  it("of a server that was killed is ended by the next one", async () => {
    const { root, marksFolder } = await newWorld();
    const owner = spawn(process.execPath, [OWNER, root, marksFolder]);
    const ended = once(owner, "exit");
    const [said] = await once(owner.stdout, "data");
    const pids: number[] = JSON.parse(String(said));
    owner.kill("SIGKILL");
    await ended;
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true, true]);
    expect(await endOrphans(marksFolder)).toMatchObject({ cleared: 1, notes: [] });
    await gone(pids);
    expect(readdirSync(marksFolder)).toEqual([]);
  });
});

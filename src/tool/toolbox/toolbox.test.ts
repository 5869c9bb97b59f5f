import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  TOOLBOX_CALLS_MAX,
  TOOLBOX_CONNECTIONS_MAX,
  TOOLBOX_LINE_BYTES_MAX,
  TOOLBOX_PROGRESS_MS,
  TOOLBOX_SETTLE_MS_MAX,
} from "../../core/limits.ts";
import { fail } from "../../core/result.ts";
import { itWhere } from "../../platform/machine.fixture.ts";
import { ManualClock } from "../../platform/manual-clock.fixture.ts";
import { answered } from "../tool.ts";
import {
  Intruder,
  launchOf,
  OWN_UID,
  Relay,
  secretOf,
  ToolboxStage,
  tenant,
  tool,
} from "./toolbox.fixture.ts";

const HELLO = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test" } };
const NOBODY = 65_534;

function asRoot(title: string, body: () => Promise<void>) {
  itWhere(OWN_UID === 0 ? null : "only root can start programs as another user", title, body);
}

describe("an agent with a toolbox", () => {
  it("has a conversation in MCP: who, which tools, and one answer for each call", async () => {
    const stage = await ToolboxStage.open();
    const relay = new Relay(launchOf(stage.toolbox([tool("shout"), tool("whisper")])));
    expect(await relay.request("initialize", HELLO)).toMatchObject({
      result: { protocolVersion: "2025-06-18", serverInfo: { name: "fermata" } },
    });
    relay.write({ method: "notifications/initialized" });
    expect(await relay.request("ping")).toMatchObject({ result: {} });
    const named = [{ name: "shout" }, { name: "whisper" }];
    expect(await relay.request("tools/list")).toMatchObject({ result: { tools: named } });
    const content = [{ type: "text", text: "whisper says hi" }];
    expect(await relay.call("whisper", "hi")).toMatchObject({
      result: { content, isError: false },
    });
    relay.process.stdin.end();
    expect(await relay.exit).toBe(0);
    expect(relay.said).toBe("");
  });

  it("is answered what it does wrong, and goes on", async () => {
    const stage = await ToolboxStage.open();
    const broken = tool("broken", () => Promise.reject(new Error("no luck")));
    const relay = new Relay(launchOf(stage.toolbox([tool("shout"), broken])));
    const old = { ...HELLO, protocolVersion: "1999-01-01" };
    const newest = { result: { protocolVersion: "2025-11-25" } };
    expect(await relay.request("initialize", old)).toMatchObject(newest);
    expect(await relay.request("resources/list")).toMatchObject({ error: { code: -32_601 } });
    expect(await relay.call("sing", "la")).toMatchObject({ error: { code: -32_602 } });
    relay.write("{not json}\n");
    expect(await relay.answer(null)).toMatchObject({ error: { code: -32_700 } });
    const missing = await relay.request("tools/call", { name: "shout" });
    expect(missing).toMatchObject({ result: { isError: true } });
    expect(JSON.stringify(missing)).toContain("is missing");
    expect(JSON.stringify(await relay.call("broken", "x"))).toMatch(/no luck.*"isError":true/);
    expect(await relay.call("shout", "still")).toMatchObject({ result: { isError: false } });
  });

  it("hears of a long call that it goes on, and can withdraw it", async () => {
    const clock = new ManualClock();
    const stage = await ToolboxStage.open({ clock });
    const { promise: asked, resolve: ask } = Promise.withResolvers<AbortSignal>();
    const slow = tool("slow", async (_, { signal, progress }) => {
      ask(signal);
      progress("begun");
      await new Promise((done) => signal.addEventListener("abort", done));
      return answered("too late");
    });
    const relay = new Relay(launchOf(stage.toolbox([slow])));
    const params = { name: "slow", arguments: { text: "" }, _meta: { progressToken: "p" } };
    const id = relay.ask("tools/call", params);
    const signal = await asked;
    clock.advance(2 * TOOLBOX_PROGRESS_MS);
    const told = () => relay.lines.filter(({ method }) => method === "notifications/progress");
    await expect.poll(() => told().length).toBe(3);
    expect(told()[1]).toMatchObject({
      params: { progressToken: "p", progress: 2, message: "begun" },
    });
    relay.write({ method: "notifications/cancelled", params: { requestId: id } });
    await expect.poll(() => signal.aborted).toBe(true);
    await relay.request("ping");
    expect(relay.lines.some((line) => line.id === id)).toBe(false);
    expect(clock.runningCount).toBe(1);
  });

  it("P2: has all calls come in that it made before it answers a ping", async () => {
    const stage = await ToolboxStage.open();
    const calls: unknown[] = [];
    const toolbox = stage.toolbox([
      tool("slow", async (input) => answered(`${calls.push(input)}`)),
    ]);
    const relay = new Relay(launchOf(toolbox));
    // Until its client has said who it is, it can have made no calls.
    await toolbox.settled();
    await relay.request("initialize", HELLO);
    let isSettled = false;
    const settled = toolbox.settled().then(() => {
      isSettled = true;
    });
    const pinged = () => relay.lines.find(({ method }) => method === "ping");
    await expect.poll(pinged).toBeDefined();
    const call = { method: "tools/call", params: { name: "slow", arguments: { text: "x" } } };
    relay.write({ id: 1_000, ...call });
    await relay.answer(1_000);
    expect(isSettled).toBe(false);
    relay.write({ id: 1_001, ...call });
    relay.write({ id: pinged()?.id, result: {} });
    await settled;
    expect(calls).toHaveLength(2);
  });

  it("P10: is not waited for again, if it does not answer a ping in time", async () => {
    const clock = new ManualClock();
    const stage = await ToolboxStage.open({ clock });
    const toolbox = stage.toolbox();
    const relay = new Relay(launchOf(toolbox));
    await relay.request("initialize", HELLO);
    const settled = toolbox.settled();
    clock.advance(TOOLBOX_SETTLE_MS_MAX);
    await settled;
    await toolbox.settled();
    await relay.request("ping");
    expect(relay.lines.filter(({ method }) => method === "ping")).toHaveLength(1);
  });

  it("is not waited for when it is gone", async () => {
    const stage = await ToolboxStage.open();
    const toolbox = stage.toolbox();
    const relay = new Relay(launchOf(toolbox));
    await relay.request("initialize", HELLO);
    const settled = toolbox.settled();
    relay.process.kill("SIGKILL");
    await settled;
    await toolbox.settled();
  });

  it("gets one answer for a call that it sends twice", async () => {
    const stage = await ToolboxStage.open();
    const calls: string[] = [];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow = tool("slow", async (_, { callId }) => {
      calls.push(callId);
      await released;
      return answered("done");
    });
    const relay = new Relay(launchOf(stage.toolbox([slow])));
    const twice = {
      id: 7,
      method: "tools/call",
      params: { name: "slow", arguments: { text: "" } },
    };
    relay.write(twice);
    relay.write(twice);
    await relay.request("ping");
    expect(calls).toEqual(["1-7"]);
    release();
    await relay.answer(7);
    await relay.request("ping");
    expect(relay.lines.filter(({ id }) => id === 7)).toHaveLength(1);
  });
});

describe("P8: a toolbox is for its session alone", () => {
  it("gives nothing without its secret, with a wrong one, or too much before it", async () => {
    const stage = await ToolboxStage.open();
    const launch = launchOf(stage.toolbox());
    for (const secret of ["", "guess", `${secretOf(stage.toolbox())}x`]) {
      const relay = new Relay({
        ...launch,
        env: { ...launch.env, FERMATA_TOOLBOX_SECRET: secret },
      });
      relay.ask("tools/list");
      expect(await relay.exit).toBe(1);
      expect(relay.lines).toEqual([]);
      expect(relay.said).toContain("no tools of the server here");
    }
    const early = new Intruder(stage.folder.socket);
    const challenge = await early.challenge();
    symlinkSync(challenge, join(stage.folder.path, "proofs", challenge));
    early.socket.write(`${launch.env.FERMATA_TOOLBOX_SECRET}\n{"id":1,"method":"tools/list"}\n`);
    await early.closed;
    expect(early.heard).toBe(`${challenge}\n`);
  });

  it("with another session's secret it is the other session's, and only that", async () => {
    const stage = await ToolboxStage.open();
    const [one, other] = [stage.toolbox([tool("one")]), stage.toolbox([tool("other")])];
    const relay = new Relay(launchOf(other));
    const listed = JSON.stringify(await relay.request("tools/list"));
    expect(listed).toContain('"other"');
    expect(listed).not.toContain('"one"');
    expect(await relay.call("one", "x")).toMatchObject({ error: { code: -32_602 } });
    other.close();
    expect(await relay.exit).toBe(0);
    one.close();
  });

  it("answers no call after the session's end, and its calls are aborted", async () => {
    const stage = await ToolboxStage.open();
    const signals: AbortSignal[] = [];
    const slow = tool("slow", async (_, { signal }) => {
      signals.push(signal);
      await new Promise((done) => signal.addEventListener("abort", done));
      return answered("too late");
    });
    const toolbox = stage.toolbox([slow]);
    const relay = new Relay(launchOf(toolbox));
    relay.ask("tools/call", { name: "slow", arguments: { text: "" } });
    await expect.poll(() => signals.length).toBe(1);
    toolbox.close();
    expect(await relay.exit).toBe(0);
    expect([signals[0]?.aborted, relay.lines]).toEqual([true, []]);
    const late = new Relay(launchOf(toolbox));
    late.ask("tools/list");
    expect(await late.exit).toBe(1);
    expect(late.lines).toEqual([]);
  });

  it("is closed to who has the secret, and does not show whose process it is", async () => {
    const stage = await ToolboxStage.open();
    const intruder = new Intruder(stage.folder.socket);
    await intruder.challenge();
    intruder.socket.write(`${secretOf(stage.toolbox())}\n`);
    await intruder.closed;
    expect(stage.logs.join()).toContain("it runs as another user");
  });

  asRoot("is closed to another user of the system, who has the secret", async () => {
    const stage = await ToolboxStage.open({ isShared: true });
    const launch = launchOf(stage.toolbox());
    const stranger = new Relay(launch, NOBODY);
    stranger.ask("tools/list");
    expect(await stranger.exit).toBe(1);
    expect(stranger.lines).toEqual([]);
    expect(stage.logs.join()).toContain("it runs as another user");
    const own = new Relay(launch);
    expect(await own.request("ping")).toMatchObject({ result: {} });
  });

  asRoot("is open to the user that its agent runs as, and then not to root", async () => {
    const stage = await ToolboxStage.open({ isShared: true, userOf: () => NOBODY });
    const launch = launchOf(stage.toolbox());
    const agent = new Relay(launch, NOBODY);
    expect(await agent.call("shout", "hi")).toMatchObject({ result: { isError: false } });
    expect(await new Relay(launch).exit).toBe(1);
  });

  asRoot("cannot even be reached by others where all agents are the server's user", async () => {
    const stage = await ToolboxStage.open();
    const stranger = new Relay(launchOf(stage.toolbox()), NOBODY);
    expect(await stranger.exit).toBe(1);
    expect(stage.logs).toEqual([]);
  });
});

describe("P10: a toolbox is bounded", () => {
  it("answers a hundred calls at once, most of them that there are too many", async () => {
    const stage = await ToolboxStage.open();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let running = 0;
    const slow = tool("slow", async () => {
      running += 1;
      await released;
      return answered("done");
    });
    const relay = new Relay(launchOf(stage.toolbox([slow])));
    for (let count = 0; count < 100; count += 1) {
      relay.ask("tools/call", { name: "slow", arguments: { text: "" } });
    }
    await expect.poll(() => relay.lines.length).toBe(100 - TOOLBOX_CALLS_MAX);
    expect(JSON.stringify(relay.lines[0])).toContain("Too many calls are open");
    expect(running).toBe(TOOLBOX_CALLS_MAX);
    release();
    await expect.poll(() => relay.lines.length).toBe(100);
    expect(await relay.call("slow", "x")).toMatchObject({ result: { isError: false } });
  });

  it("takes no line of 100 MB, and goes on behind it", async () => {
    const stage = await ToolboxStage.open();
    const relay = new Relay(launchOf(stage.toolbox()));
    const before = process.memoryUsage().rss;
    const piece = "x".repeat(TOOLBOX_LINE_BYTES_MAX);
    for (let count = 0; count < 100; count += 1) {
      if (!relay.process.stdin.write(piece)) {
        await new Promise((drained) => relay.process.stdin.once("drain", drained));
      }
    }
    relay.write("\n");
    expect(await relay.answer(null)).toMatchObject({ error: { code: -32_700 } });
    expect(await relay.request("ping")).toMatchObject({ result: {} });
    expect((process.memoryUsage().rss - before) / TOOLBOX_LINE_BYTES_MAX).toBeLessThan(90);
  });

  it("keeps no more than a few connections of a thousand that say nothing", async () => {
    const stage = await ToolboxStage.open();
    const crowd = Array.from({ length: 1_000 }, () => new Intruder(stage.folder.socket));
    const left = () => crowd.filter(({ socket }) => !socket.destroyed).length;
    await expect.poll(left, { timeout: 60_000 }).toBeLessThanOrEqual(64);
    const relay = new Relay(launchOf(stage.toolbox()));
    expect(await relay.request("ping")).toMatchObject({ result: {} });
    for (const { socket } of crowd) socket.write('{"half a line');
    expect(await relay.request("ping")).toMatchObject({ result: {} });
  });

  it("has a few connections for each session", async () => {
    const stage = await ToolboxStage.open();
    const launch = launchOf(stage.toolbox());
    const relays = Array.from({ length: TOOLBOX_CONNECTIONS_MAX }, () => new Relay(launch));
    for (const relay of relays) await relay.request("ping");
    expect(await new Relay(launch).exit).toBe(1);
    relays[0]?.process.kill();
    await relays[0]?.exit;
    await expect.poll(async () => "result" in (await new Relay(launch).request("ping"))).toBe(true);
  });

  it("is one of those that its tenant has a share of", async () => {
    const stage = await ToolboxStage.open();
    const open = (name: string) =>
      stage.server.open({ tenantId: tenant(name), agent: "echo" }, [tool("shout")]);
    let opened = open("greedy");
    for (let count = 1; count < 512 && typeof opened !== "string"; count += 1)
      opened = open("greedy");
    expect(opened).toContain("too many sessions");
    expect(open("modest")).toMatchObject({ server: { name: "fermata" } });
  });

  it("does not read on while its answers are not read", async () => {
    const stage = await ToolboxStage.open();
    const long = tool("long", async () => answered("x".repeat(60_000)));
    const relay = new Relay(launchOf(stage.toolbox([long])));
    await relay.request("ping");
    relay.process.stdout.pause();
    let isFull = false;
    for (let count = 0; count < 2_000 && !isFull; count += 1) {
      // All of them together are more than what lies between can hold.
      relay.ask("tools/call", { name: "long", arguments: { text: "y".repeat(1_000) } });
      if (count % 100 === 99) await new Promise((later) => setImmediate(later));
    }
    isFull = relay.process.stdin.writableLength > 0;
    expect(isFull).toBe(true);
    relay.process.stdout.resume();
    await expect.poll(() => relay.lines.length, { timeout: 60_000 }).toBe(2_001);
  });
});

describe("P11: the secret of a toolbox", () => {
  it("is known to the guard before the agent has it, and given back at the end", async () => {
    const stage = await ToolboxStage.open();
    const toolbox = stage.toolbox();
    expect([...stage.secrets]).toEqual([secretOf(toolbox)]);
    expect(secretOf(toolbox)).not.toBe(secretOf(stage.toolbox()));
    toolbox.close();
    toolbox.close();
    expect(stage.secrets.has(secretOf(toolbox))).toBe(false);
  });

  it("is not made where it could not be guarded", async () => {
    const stage = await ToolboxStage.open({
      secret: () => fail("store_unavailable", { reason: "no" }),
    });
    const request = { tenantId: tenant("acme"), agent: "echo" };
    expect(stage.server.open(request, [tool("shout")])).toContain("too many secrets");
  });
});

describe("the toolboxes of a server", () => {
  it("are open to no agent of which a sentence says why not", async () => {
    const stage = await ToolboxStage.open({ userOf: () => "it offers none to its model" });
    const request = { tenantId: tenant("acme"), agent: "shy" };
    expect(stage.server.open(request, [tool("shout")])).toBe("it offers none to its model");
  });

  it("end with it: no relay, no folder and no later toolbox is left", async () => {
    const stage = await ToolboxStage.open();
    const toolbox = stage.toolbox();
    const relay = new Relay(launchOf(toolbox));
    await relay.request("ping");
    await stage.server.close();
    expect(await relay.exit).toBe(0);
    const request = { tenantId: tenant("acme"), agent: "echo" };
    expect(stage.server.open(request, [tool("shout")])).toBe("the server is stopping");
    expect(existsSync(stage.folder.path)).toBe(false);
  });
});

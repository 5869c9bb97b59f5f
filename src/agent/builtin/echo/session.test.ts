import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";

const folders: string[] = [];

afterEach(async () => {
  expect(await endEchoes()).toEqual([]);
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function stateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-echo-"));
  folders.push(folder);
  return folder;
}

const REPLAYED = [
  { sessionUpdate: "user_message_chunk", content: { type: "text", text: "say a" } },
  { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a" } },
  { sessionUpdate: "user_message_chunk", content: { type: "text", text: "think b" } },
];

describe("a session of echo", () => {
  it("is one of several, which know nothing of each other", async () => {
    const client = await EchoClient.withSession();
    expect(await client.newSession()).toBe("sess-2");
    await client.promptIn("sess-1", "say a");
    expect((await client.promptIn("sess-2", "recall")).text).toBe("I remember 0 turns.\n");
  });

  it("is loaded with all that was said, before the answer", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("say a");
    await client.prompt("think b");
    await client.result("session/close", { sessionId: "sess-1" });
    const before = client.updates().length;
    const loaded = { sessionId: "sess-1", cwd: "/", mcpServers: [] };
    expect(await client.result("session/load", loaded)).toMatchObject({
      modes: { currentModeId: "default" },
    });
    expect(client.updates().slice(before)).toEqual(REPLAYED);
    expect((await client.prompt("recall")).text).toContain("2 turns");
  });

  it("is resumed without a word", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("say a", "tool");
    await client.result("session/close", { sessionId: "sess-1" });
    expect(await client.errorCode("session/prompt", { sessionId: "sess-1", prompt: [] })).toBe(
      -32002,
    );
    await client.result("session/resume", { sessionId: "sess-1", cwd: "/" });
    const turn = await client.prompt("recall", "tool");
    expect(turn.text).toContain('1 turn; last you said "say a\\ntool"');
    expect(turn.updates[1]).toMatchObject({ toolCallId: "call-2" });
  });

  it("is not restored while it is at work", async () => {
    const client = await EchoClient.withSession();
    void client.prompt("say a", "hang");
    await client.until(() => client.updates().length > 0);
    const params = { sessionId: "sess-1", cwd: "/", mcpServers: [] };
    expect(await client.errorCode("session/load", params)).toBe(-32600);
  });

  it("is forked, and the copy goes its own way", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("say a");
    expect(await client.result("session/fork", { sessionId: "sess-1", cwd: "/" })).toMatchObject({
      sessionId: "sess-2",
    });
    await client.promptIn("sess-2", "say b");
    expect((await client.promptIn("sess-1", "recall")).text).toContain("1 turn");
    expect((await client.promptIn("sess-2", "recall")).text).toContain("2 turns");
  });

  it("has a mode, a model and an option, which can be set and are remembered", async () => {
    const client = await EchoClient.withSession();
    const sessionId = "sess-1";
    expect(await client.result("session/set_mode", { sessionId, modeId: "plan" })).toEqual({});
    const set = { sessionId, configId: "model", value: "echo-large" };
    expect(await client.result("session/set_config_option", set)).toMatchObject({
      configOptions: expect.arrayContaining([
        expect.objectContaining({ id: "model", category: "model", currentValue: "echo-large" }),
      ]),
    });
    const loud = { sessionId, configId: "loud", type: "boolean", value: true };
    await client.result("session/set_config_option", loud);
    await client.result("session/close", { sessionId });
    expect(await client.result("session/resume", { sessionId, cwd: "/" })).toMatchObject({
      modes: { currentModeId: "plan" },
      configOptions: expect.arrayContaining([
        expect.objectContaining({ id: "model", currentValue: "echo-large" }),
        expect.objectContaining({ id: "loud", currentValue: true }),
      ]),
    });
  });

  it("has options for its model, which take what they offer and nothing else", async () => {
    const client = await EchoClient.withSession();
    const set = (configId: string, value: string) =>
      client.errorCode("session/set_config_option", { sessionId: "sess-1", configId, value });
    expect(await set("effort", "high")).toBeNull();
    expect(await set("temperature", "0.2")).toBeNull();
    expect(await set("verbosity", "low")).toBeNull();
    for (const [id, odd] of [
      ["effort", "0.2"],
      ["temperature", "0.3"],
      ["verbosity", ""],
    ] as const) {
      expect(await set(id, odd)).toBe(-32602);
    }
    const { text } = await client.prompt("whoami");
    expect(text).toContain("effort: high\ntemperature: 0.2\nverbosity: low\n");
    const sessionId = "sess-1";
    await client.result("session/close", { sessionId });
    const again = await client.result("session/resume", { sessionId, cwd: "/" });
    expect(again.configOptions).toMatchObject([
      { id: "model" },
      { id: "effort", category: "thought_level", currentValue: "high" },
      { id: "temperature", category: "model_config", currentValue: "0.2" },
      { id: "verbosity", category: "model_config", currentValue: "low" },
      { id: "loud" },
    ]);
  });

  it("shows no boolean option to a client that knows none", async () => {
    const client = new EchoClient();
    await client.initialize({});
    const made = await client.result("session/new", { cwd: "/", mcpServers: [] });
    const ids = ["model", "effort", "temperature", "verbosity"];
    expect(made.configOptions).toMatchObject(ids.map((id) => ({ id, type: "select" })));
  });
});

describe("the list of sessions", () => {
  it("goes by pages, by the folder, and has the titles", async () => {
    const client = new EchoClient();
    await client.initialize();
    for (let n = 1; n <= 22; n += 1) await client.newSession({ cwd: n % 11 === 0 ? "/b" : "/a" });
    await client.promptIn("sess-22", "title The last");
    const first = await client.result("session/list", {});
    expect(first.sessions).toHaveLength(20);
    expect(await client.result("session/list", { cursor: first.nextCursor })).toEqual({
      sessions: [
        { sessionId: "sess-21", cwd: "/a" },
        { sessionId: "sess-22", cwd: "/b", title: "The last" },
      ],
    });
    const inB = await client.result("session/list", { cwd: "/b" });
    expect(inB.sessions).toMatchObject([{ sessionId: "sess-11" }, { sessionId: "sess-22" }]);
    expect(await client.result("session/list", { cwd: "/a" })).not.toHaveProperty("nextCursor");
  });
});

describe("the state folder", () => {
  it("makes sessions outlive the process, however it ended", async () => {
    const folder = stateFolder();
    const client = await EchoClient.withSession("--state", folder);
    await client.prompt("say a");
    await client.prompt("think b");
    await client.result("session/set_mode", { sessionId: "sess-1", modeId: "plan" });
    void client.prompt("signal SIGKILL");
    await client.exited;

    const next = new EchoClient("--state", folder);
    await next.initialize();
    expect(await next.newSession()).toBe("sess-2");
    const loaded = { sessionId: "sess-1", cwd: "/", mcpServers: [] };
    expect(await next.result("session/load", loaded)).toMatchObject({
      modes: { currentModeId: "plan" },
    });
    expect(next.updates()).toEqual(REPLAYED);
    expect(await next.result("session/list", {})).toMatchObject({
      sessions: [{ sessionId: "sess-1", cwd: "/tmp" }, { sessionId: "sess-2" }],
    });
  });

  it("is shared by several echoes, which never give one id twice", async () => {
    const folder = stateFolder();
    const clients = [1, 2, 3].map(() => new EchoClient("--state", folder));
    await Promise.all(clients.map((client) => client.initialize()));
    const ids = await Promise.all(
      clients.flatMap((client) => [1, 2, 3].map(() => client.newSession())),
    );
    expect(new Set(ids).size).toBe(9);
  });

  it("may hold half a line, and things that are not echo's", async () => {
    const folder = stateFolder();
    const client = await EchoClient.withSession("--state", folder);
    await client.prompt("say a");
    appendFileSync(join(folder, "sess-1.jsonl"), '{"kind":"title"}\n{"kind":"x"}\n[]\n{"kind":"tu');
    appendFileSync(join(folder, "notes.txt"), "hello");
    const next = new EchoClient("--state", folder);
    await next.initialize();
    await next.result("session/resume", { sessionId: "sess-1", cwd: "/" });
    expect((await next.prompt("recall")).text).toContain("1 turn");
    expect(await next.newSession()).toBe("sess-2");
  });

  it("that cannot be made is a clear error", async () => {
    const client = new EchoClient("--state", "/dev/null/state");
    expect(await client.exited).toEqual({ code: 1, signal: null });
    expect(client.stderr).toMatch(/^echo: it cannot keep sessions in \/dev\/null\/state: .+\n$/);
  });
});

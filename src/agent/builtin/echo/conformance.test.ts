import { type Readable, Writable } from "node:stream";
import {
  client as acpClient,
  methods,
  type NewSessionRequest,
  ndJsonStream,
} from "@agentclientprotocol/sdk/unstable";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../core/json.ts";
import { EchoClient, echoInside, endEchoes } from "./echo-client.fixture.ts";
import { LANGUAGE } from "./language.ts";
import type { LineClient } from "./line-client.fixture.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

/** Every directive after which the protocol still holds. */
const LAWFUL = [
  ...["say a", "think b", "chunks 3 10", "message m", "help", "recall", "whoami", "env A"],
  ...["tool t status=open", "tool t", "tool kind=edit path=/a", "plan a|b", "title T"],
  ...["usage 1 2 input=3 cost=0.1", "commands a,b", "mode plan", "config model echo-large"],
  ...['update {"sessionUpdate":"plan","entries":[]}', "ask", "question field=color Which?"],
  ...["read ./a 1 2", "write ./a b", "run ls -l", 'call fs/read_text_file {"path":"/a"}'],
  ...['notify $/cancel_request {"requestId":999}', "sleep 1", "ignore-cancel", "stderr c"],
  ...["mcp shout", "mcp-tools", "mcp-env", "longline 1000", "stop max_tokens"],
];

/** Those that break it, end the turn or the process; the other tests have them. */
const UNLAWFUL = [
  ...["unknown-update", "hang", "refuse", "fail", "twice", "crash", "signal", "garbage"],
  ...["flood", "deep", "stray", "fork-child"],
];

describe("echo, by the official client,", () => {
  /** The SDK's client on echo's pipes, and all that it was told. */
  function connect(echo: EchoClient) {
    const updates: string[] = [];
    const { stdin, stdout } = echo.child;
    // The line reader gives way.
    stdout.removeAllListeners("data");
    const stream = ndJsonStream(Writable.toWeb(stdin), readable(stdout));
    const app = acpClient({ name: "test" })
      .onNotification(methods.client.session.update, ({ params }) => {
        updates.push(params.update.sessionUpdate);
      })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        const optionId = params.options[0]?.optionId ?? "";
        return { outcome: { outcome: "selected", optionId } };
      })
      .onRequest(methods.client.elicitation.create, () => {
        return { action: "accept", content: { color: "blue" } };
      })
      .onRequest(methods.client.fs.readTextFile, () => ({ content: "c" }))
      .onRequest(methods.client.fs.writeTextFile, () => ({}))
      .onRequest(methods.client.terminal.create, () => ({ terminalId: "t" }))
      .onRequest(methods.client.terminal.waitForExit, () => ({ exitCode: 0 }))
      .onRequest(methods.client.terminal.output, () => ({ output: "o", truncated: false }))
      .onRequest(methods.client.terminal.release, () => ({}));
    return { agent: app.connect(stream).agent, updates };
  }

  const capabilities = {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    elicitation: { form: {} },
    session: { configOptions: { boolean: {} } },
  };
  const around: NewSessionRequest = { cwd: "/tmp", mcpServers: [] };
  const says = (text: string) => [{ type: "text" as const, text }];

  it("does every lawful directive", async () => {
    const { agent, updates } = connect(new EchoClient());
    const initialized = await agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: capabilities,
    });
    expect(initialized).toMatchObject({ protocolVersion: 1, agentInfo: { name: "echo" } });
    const { sessionId } = await agent.request(methods.agent.session.new, around);
    const prompt = says(LAWFUL.join("\n"));
    const ended = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
    expect(ended).toMatchObject({ stopReason: "max_tokens", usage: { inputTokens: 3 } });
    expect([...new Set(updates)].toSorted()).toEqual([
      "agent_message_chunk",
      "agent_thought_chunk",
      "available_commands_update",
      "config_option_update",
      "current_mode_update",
      "plan",
      "session_info_update",
      "tool_call",
      "tool_call_update",
      "usage_update",
    ]);
  });

  it("loads, resumes, forks, lists, sets up, cancels and closes sessions", async () => {
    const { agent, updates } = connect(new EchoClient());
    await agent.request(methods.agent.initialize, { protocolVersion: 1 });
    const made = await agent.request(methods.agent.session.new, around);
    const { sessionId, modes } = made;
    expect(modes?.availableModes.map(({ id }) => id)).toEqual(["default", "plan", "auto"]);
    await agent.request(methods.agent.session.prompt, { sessionId, prompt: says("say a") });
    await agent.request(methods.agent.session.setMode, { sessionId, modeId: "plan" });
    const configId = "model";
    const set = { sessionId, configId, value: "echo-cave" };
    await agent.request(methods.agent.session.setConfigOption, set);
    const forked = await agent.request(methods.agent.session.fork, { ...around, sessionId });
    expect(forked).toMatchObject({ sessionId: "sess-2", modes: { currentModeId: "plan" } });
    const { sessions } = await agent.request(methods.agent.session.list, {});
    expect(sessions.map((one) => one.sessionId)).toEqual(["sess-1", "sess-2"]);
    await agent.request(methods.agent.session.close, { sessionId });
    await agent.request(methods.agent.session.resume, { ...around, sessionId });
    updates.length = 0;
    await agent.request(methods.agent.session.load, { ...around, sessionId });
    expect(updates).toEqual(["user_message_chunk", "agent_message_chunk"]);
    const turn = agent.request(methods.agent.session.prompt, { sessionId, prompt: says("hang") });
    await agent.notify(methods.agent.session.cancel, { sessionId });
    expect(await turn).toEqual({ stopReason: "cancelled" });
  });
});

describe("echo, by the official schema,", () => {
  it("does every lawful directive", async () => {
    const client = await EchoClient.withSession();
    for (const [method, result] of Object.entries(SERVED)) client.serves.set(method, () => result);
    expect((await client.prompt(...LAWFUL)).reply).toMatchObject({
      result: { stopReason: "max_tokens" },
    });
    expect(client.faults).toEqual([]);
  });

  it("has been asked for every directive that there is", () => {
    const verbs = [...LAWFUL, ...UNLAWFUL].map((line) => line.split(" ")[0]);
    expect([...new Set(verbs)].toSorted()).toEqual(Object.keys(LANGUAGE).toSorted());
  });
});

const SERVED: JsonObject = {
  "session/request_permission": { outcome: { outcome: "cancelled" } },
  "elicitation/create": { action: "cancel" },
  "fs/read_text_file": { content: "c" },
  "fs/write_text_file": {},
  "terminal/create": { terminalId: "t" },
  "terminal/wait_for_exit": { exitCode: 0 },
  "terminal/output": { output: "o", truncated: false },
  "terminal/release": {},
};

const SWITCHES = ["load", "resume", "close", "list", "fork", "modes", "config"] as const;
type Switch = (typeof SWITCHES)[number];

const COMBINATIONS = Array.from({ length: 2 ** SWITCHES.length }, (_, number) => {
  return SWITCHES.filter((_, bit) => (number & (1 << bit)) !== 0);
});

describe("echo with every combination of capabilities", () => {
  it("offers what it has, serves what it offers, and refuses the rest", async () => {
    expect(COMBINATIONS).toHaveLength(128);
    for (const off of COMBINATIONS) {
      const client = echoInside(...flagsFor(off));
      await drive(client, off);
      expect(client.faults).toEqual([]);
    }
  });

  it.each([[], ...SWITCHES.map((name) => [name]), SWITCHES])(
    "does the same in a process of its own: without %s",
    async (...off) => {
      const client = new EchoClient(...flagsFor(off));
      await drive(client, off);
      client.endInput();
      expect(await client.exited).toEqual({ code: 0, signal: null });
    },
  );
});

function flagsFor(off: readonly Switch[]): readonly string[] {
  return off.map((name) => `--no-${name}`);
}

async function drive(client: LineClient, off: readonly Switch[]) {
  const has = (name: Switch) => !off.includes(name);
  const { agentCapabilities } = await client.initialize();
  const offered = (["list", "resume", "close", "fork"] as const).filter(has);
  expect(agentCapabilities).toMatchObject({ loadSession: has("load") });
  expect(Object.keys(Object(agentCapabilities).sessionCapabilities)).toEqual([
    ...offered,
    "systemPrompt",
  ]);
  const made = await client.result("session/new", { cwd: "/", mcpServers: [] });
  const fields = { sessionId: true, modes: has("modes"), configOptions: has("config") };
  expect(Object.keys(made)).toEqual(Object.keys(fields).filter((key) => Object(fields)[key]));
  expect((await client.prompt("say a", "recall")).reply).toEqual({
    result: { stopReason: "end_turn" },
  });

  const sessionId = "sess-1";
  const restore = { sessionId, cwd: "/", mcpServers: [] };
  const calls: readonly (readonly [Switch, string, JsonObject])[] = [
    ["modes", "session/set_mode", { sessionId, modeId: "auto" }],
    ["config", "session/set_config_option", { sessionId, configId: "model", value: "echo-cave" }],
    ["load", "session/load", restore],
    ["resume", "session/resume", restore],
    ["fork", "session/fork", restore],
    ["list", "session/list", {}],
    ["close", "session/close", { sessionId }],
  ];
  for (const [name, method, params] of calls) {
    const code = await client.errorCode(method, params);
    expect([off, method, code]).toEqual([off, method, has(name) ? null : -32601]);
  }
}

/** What `Readable.toWeb` makes, with its type as the SDK has it. */
function readable(stdout: Readable): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      stdout.on("data", (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)));
      stdout.on("end", () => controller.close());
    },
  });
}

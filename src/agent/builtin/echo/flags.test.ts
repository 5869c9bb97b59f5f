import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";
import { FLAG_GROUPS, helpText, readFlags } from "./flags.ts";
import { HeldStart } from "./held-start.fixture.ts";
import { LANGUAGE } from "./language.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

const NEW = { cwd: "/", mcpServers: [] };

describe("the flags", () => {
  it.each([
    [["--loud"], "--loud is no flag of echo"],
    [["constructor"], "constructor is no flag of echo"],
    [["--state"], "--state wants DIR"],
    [["--slow-start", "long"], "--slow-start wants a whole number up to 600000"],
    [["--start-when"], "--start-when wants FILE"],
    [["--exit-at-start", "256"], "--exit-at-start wants a whole number up to 255"],
  ])("are refused where they are wrong: %j", (argv, why) => {
    expect(readFlags(argv)).toBe(why);
  });

  it("that are wrong end echo with advice", async () => {
    const client = new EchoClient("--no-idea");
    expect(await client.exited).toEqual({ code: 2, signal: null });
    expect(client.stderr).toBe("echo: --no-idea is no flag of echo; see --help\n");
  });

  it.each(["--help", "--help-text"])("%s prints all of them, and the language", async (flag) => {
    const client = new EchoClient(flag);
    expect(await client.exited).toEqual({ code: 0, signal: null });
    expect(`${client.noise.join("\n")}\n`).toBe(helpText("main.ts").replaceAll(/\n+/g, "\n"));
    const flags = Object.values(FLAG_GROUPS).flatMap((group) => Object.keys(group));
    for (const name of [...flags, ...Object.keys(LANGUAGE)])
      expect(helpText("main.ts")).toContain(name);
  });
});

describe("a capability that is switched off", () => {
  it("--no-images, --no-embedded: is said, and the content refused", async () => {
    const client = new EchoClient("--no-images", "--no-embedded");
    expect(await client.initialize()).toMatchObject({
      agentCapabilities: { promptCapabilities: { image: false, embeddedContext: false } },
    });
    const sessionId = await client.newSession();
    const image = { type: "image", mimeType: "image/png", data: "" };
    const embedded = { type: "resource", resource: { uri: "file:///a", text: "" } };
    for (const block of [image, embedded]) {
      expect(await client.errorCode("session/prompt", { sessionId, prompt: [block] })).toBe(-32602);
    }
  });

  it("--no-system-prompt: is said, and a system prompt refused", async () => {
    const client = new EchoClient("--no-system-prompt");
    const { agentCapabilities } = await client.initialize();
    expect(agentCapabilities).not.toHaveProperty("sessionCapabilities.systemPrompt");
    const systemPrompt = { mode: "append", content: [] };
    expect(await client.errorCode("session/new", { ...NEW, systemPrompt })).toBe(-32602);
  });

  it.each(["effort", "temperature", "verbosity"])("--no-%s: is an option less", async (id) => {
    const client = new EchoClient(`--no-${id}`);
    await client.initialize();
    const { sessionId, configOptions } = await client.result("session/new", NEW);
    const ids = ["model", "effort", "temperature", "verbosity", "loud"];
    const left = ids.filter((one) => one !== id);
    expect(configOptions).toMatchObject(left.map((one) => ({ id: one })));
    for (const value of ["low", "1"]) {
      const set = { sessionId, configId: id, value };
      expect(await client.errorCode("session/set_config_option", set)).toBe(-32602);
    }
  });

  it("--single-session: is one session at a time", async () => {
    const client = await EchoClient.withSession("--single-session");
    expect(await client.errorCode("session/new", NEW)).toBe(-32600);
    expect(await client.errorCode("session/fork", { ...NEW, sessionId: "sess-1" })).toBe(-32600);
    await client.result("session/close", { sessionId: "sess-1" });
    expect(await client.newSession()).toBe("sess-2");
    expect(await client.errorCode("session/load", { ...NEW, sessionId: "sess-1" })).toBe(-32600);
    await client.result("session/load", { ...NEW, sessionId: "sess-2" });
  });
});

describe("a capability that is switched on", () => {
  it("--with-legacy-model: has models in the old way too", async () => {
    const client = new EchoClient("--with-legacy-model", "--no-config");
    await client.initialize();
    const { sessionId, models } = await client.result("session/new", NEW);
    expect(models).toMatchObject({ currentModelId: "echo-small" });
    expect(Object(models).availableModels[1]).toEqual({
      modelId: "echo-large",
      name: "Echo Large",
    });
    // The protocol has dropped both, and so has the schema.
    expect(client.forgive()).toEqual(["session/new.models: the schema has no such field"]);
    const set = (modelId: string) => client.call("session/set_model", { sessionId, modelId });
    expect(await set("echo-large")).toEqual({ result: {} });
    expect(await set("gpt")).toMatchObject({ error: { code: -32602 } });
    expect(client.forgive()).toEqual(["ACP has no session/set_model of the agent"]);
    expect((await client.prompt("whoami")).text).toContain("model: echo-large\n");
  });

  it("--needs-auth: makes no session before it is authenticated", async () => {
    const client = new EchoClient("--needs-auth");
    expect(await client.initialize()).toMatchObject({ authMethods: [{ id: "echo" }] });
    expect(await client.errorCode("session/new", NEW)).toBe(-32000);
    expect(await client.errorCode("authenticate", { methodId: "key" })).toBe(-32602);
    expect(await client.result("authenticate", { methodId: "echo" })).toEqual({});
    expect(await client.newSession()).toBe("sess-1");
  });

  it.each(["--steer", "--queue"])("%s: is said where other agents say it", async (flag) => {
    const client = new EchoClient(flag);
    expect(await client.initialize()).toMatchObject({
      agentCapabilities: { _meta: { echo: { promptQueueing: true } } },
    });
  });
});

describe("misconduct", () => {
  it("--protocol: answers with another version", async () => {
    const client = new EchoClient("--protocol", "7");
    expect(await client.initialize()).toMatchObject({ protocolVersion: 7 });
  });

  it("--slow-start: answers late, and then as always", async () => {
    const client = new EchoClient("--slow-start", "30");
    const startedMs = performance.now();
    await client.initialize();
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(30);
    expect(await client.newSession()).toBe("sess-1");
  });

  it("--start-when: answers once a file is there, and then as always", async () => {
    const held = new HeldStart();
    const client = new EchoClient("--garbage-at-start", ...held.flags);
    let mayAnswer = false;
    const answered = client.initialize().then(() => expect(mayAnswer).toBe(true));
    // It has begun, and would answer now if it did not wait.
    await client.until(() => client.noise.length > 2);
    mayAnswer = true;
    held.begin();
    await answered;
    expect(await client.newSession()).toBe("sess-1");
  });

  it("--never-answer: answers anything but `initialize`", async () => {
    const client = new EchoClient("--never-answer");
    let isAnswered = false;
    void client.call("initialize", { protocolVersion: 1 }).then(() => {
      isAnswered = true;
    });
    expect(await client.errorCode("session/dance", {})).toBe(-32601);
    expect(await client.errorCode("session/new", NEW)).toBe(-32600);
    expect(isAnswered).toBe(false);
  });

  it("--exit-at-start: exits and says why", async () => {
    const client = new EchoClient("--exit-at-start", "3");
    expect(await client.exited).toEqual({ code: 3, signal: null });
    expect(client.stderr).toBe("echo: it was told to exit with 3\n");
  });

  it("--garbage-at-start: begins with lines that are no messages", async () => {
    const client = await EchoClient.withSession("--garbage-at-start");
    expect(client.noise.length).toBeGreaterThan(2);
    expect((await client.prompt("say a")).text).toBe("a");
  });

  it.each(["session/load", "session/resume"])("--die-on-load: exits on %s", async (method) => {
    const client = await EchoClient.withSession("--die-on-load");
    void client.call(method, { ...NEW, sessionId: "sess-1" });
    expect(await client.exited).toEqual({ code: 1, signal: null });
  });

  it("--fail-close: answers session/close with an error", async () => {
    const client = await EchoClient.withSession("--fail-close");
    const closing = client.call("session/close", { sessionId: "sess-1" });
    await expect(closing).resolves.toMatchObject({ error: { message: "it does not close" } });
  });

  it("--late-replay: answers session/load before it has said everything again", async () => {
    const client = await EchoClient.withSession("--late-replay");
    for (const word of ["one", "two", "three"]) await client.prompt(`say ${word}`);
    const before = client.heard.length;
    await client.result("session/load", { ...NEW, sessionId: "sess-1" });
    await client.until(() => client.heard.length - before === 6);
    expect(client.answeredAfter.get("session/load")).toBe(before + 2);
  });

  it("--refuse-option: does not change one option, and says so", async () => {
    const client = await EchoClient.withSession("--refuse-option", "effort");
    const set = (configId: string, value: string) =>
      client.call("session/set_config_option", { sessionId: "sess-1", configId, value });
    expect(await set("effort", "high")).toMatchObject({
      error: { code: -32600, message: "echo does not change its effort" },
    });
    expect(await set("verbosity", "high")).toMatchObject({ result: {} });
    const { text } = await client.prompt("whoami");
    expect(text).toMatch(/effort: medium\n.*\nverbosity: high\n/);
  });

  it("--reset-with-model: goes back to its other options", async () => {
    const client = await EchoClient.withSession("--reset-with-model");
    const set = (configId: string, value: string) =>
      client.result("session/set_config_option", { sessionId: "sess-1", configId, value });
    await set("effort", "high");
    expect((await client.prompt("whoami")).text).toContain("effort: high\n");
    await set("model", "echo-large");
    expect((await client.prompt("whoami")).text).toContain("effort: medium\n");
  });

  it("exits when its input ends, even in a turn", async () => {
    const client = await EchoClient.withSession();
    void client.prompt("say a", "hang");
    await client.until(() => client.updates().length > 0);
    client.endInput();
    expect(await client.exited).toEqual({ code: 0, signal: null });
  });

  it("--ignore-eof, --ignore-term: stays, and can only be killed", async () => {
    const client = await EchoClient.withSession("--ignore-eof", "--ignore-term");
    void client.prompt(
      "signal SIGTERM",
      "say alive",
      "sleep 50",
      "say still",
      "sleep 50",
      "say end",
    );
    client.endInput();
    await client.until(() => JSON.stringify(client.updates()).includes('"end"'));
    client.child.kill("SIGKILL");
    expect(await client.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("has a test for every flag", () => {
    const here = [
      ...["--no-images", "--no-embedded", "--no-system-prompt", "--single-session"],
      ...["--with-legacy-model", "--needs-auth", "--steer", "--queue", "--state"],
      ...["--protocol", "--slow-start", "--start-when"],
      ...["--never-answer", "--exit-at-start", "--help-text"],
      ...["--garbage-at-start", "--die-on-load", "--ignore-eof", "--ignore-term"],
      ...["--no-effort", "--no-temperature", "--no-verbosity"],
      ...["--refuse-option", "--reset-with-model", "--late-replay", "--fail-close"],
    ];
    const inConformance = ["load", "resume", "close", "list", "fork", "modes", "config"];
    const all = Object.values(FLAG_GROUPS).flatMap((group) => Object.keys(group));
    expect(all.toSorted()).toEqual(
      [...here, ...inConformance.map((name) => `--no-${name}`)].toSorted(),
    );
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";
import { HINT, languageText } from "./flags.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

const END = { result: { stopReason: "end_turn" } };

describe("echo, without a script", () => {
  it("says a prompt back in a few chunks, with a hint below the first", async () => {
    const client = await EchoClient.withSession();
    const first = await client.prompt("Hello, echo! 🎶🎶");
    expect(first).toMatchObject({ reply: END, text: `Hello, echo! 🎶🎶${HINT}` });
    expect(first.updates).toHaveLength(5);
    expect(await client.prompt("Again")).toMatchObject({ reply: END, text: "Again" });
  });

  it("gives the hint once in each session, and never to a script", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("say a")).text).toBe("a");
    expect((await client.prompt("b")).text).toBe("b");
    const other = await client.newSession();
    expect((await client.promptIn(other, "c")).text).toBe(`c${HINT}`);
  });

  it("marks what is no text", async () => {
    const client = await EchoClient.withSession();
    const prompt = [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: "AA==" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///b", text: "b" } },
      { type: "text", text: "here" },
    ];
    await client.result("session/prompt", { sessionId: "sess-1", prompt });
    const texts = client.updates().map(({ content }) => JSON.stringify(content));
    expect(texts).toHaveLength(5);
    expect((await client.prompt("recall")).text).toContain('last you said "here"');
  });

  it("says what is wrong with a script, and does nothing of it", async () => {
    const client = await EchoClient.withSession();
    const turn = await client.prompt("say a", "chunks");
    expect(turn.reply).toEqual(END);
    expect(turn.text).toBe("line 2 of the script: it wants N; it is written: chunks N BYTES");
  });
});

describe("echo, told to speak,", () => {
  it("says and thinks, in the order of the script", async () => {
    const client = await EchoClient.withSession();
    const turn = await client.prompt("think hm", String.raw`say "a\nb"`);
    expect(turn.updates).toEqual([
      { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } },
      { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a\nb" } },
    ]);
  });

  it("says numbered chunks of an exact size", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("chunks 3 5", "chunks 1 0", "chunks 12 1");
    const texts = updates.map(({ content }) => JSON.stringify(content));
    expect(texts.slice(0, 4)).toEqual(
      ["1 ...", "2 ...", "3 ...", ""].map((text) => JSON.stringify({ type: "text", text })),
    );
    expect(texts.at(-1)).toBe('{"type":"text","text":"1"}');
  });

  it("puts a message id on its chunks, and takes it off again", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("message m", "say a", "think b", "message", "say c");
    expect(updates.map(({ messageId }) => messageId)).toEqual(["m", "m", undefined]);
  });

  it("says its language, the environment and who it is", async () => {
    const client = await EchoClient.withSession("--no-fork", "--slow-start", "1");
    expect((await client.prompt("help")).text).toBe(`${languageText()}\n`);
    expect((await client.prompt("env HOME_OF_NOBODY PATH")).text).toBe(
      `HOME_OF_NOBODY is not set\nPATH=${process.env.PATH}\n`,
    );
    const mcpServers = [
      { name: "files", command: "x", args: [], env: [] },
      { name: "web", type: "http", url: "http://127.0.0.1:1", headers: [] },
    ];
    const systemPrompt = { mode: "append", content: [{ type: "text", text: "Be brief." }] };
    const id = await client.newSession({ cwd: "/", mcpServers, systemPrompt });
    expect((await client.promptIn(id, "whoami")).text).toBe(
      [
        "session: sess-2",
        "cwd: /",
        `process cwd: ${process.cwd()}`,
        "sessions: sess-1, sess-2",
        "flags: --no-fork --slow-start 1",
        "model: echo-small",
        "mode: default",
        "effort: medium",
        "temperature: 1",
        "verbosity: medium",
        "MCP servers: files (stdio), web (http)",
        "system prompt: Be brief.",
        "",
      ].join("\n"),
    );
  });
});

describe("echo, told to recall,", () => {
  it("says what it remembers of the session", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("recall")).text).toBe("I remember 0 turns.\n");
    expect((await client.prompt("recall")).text).toBe(
      'I remember 1 turn; last you said "recall".\n',
    );
  });

  it("says what came in front of the prompt, which is how a seed is seen", async () => {
    const client = await EchoClient.withSession();
    const prompt = ["<earlier>", "recall"].map((text) => ({ type: "text", text }));
    await client.result("session/prompt", { sessionId: "sess-1", prompt });
    expect(client.updates()).toEqual([
      {
        sessionUpdate: "agent_message_chunk",
        content: {
          type: "text",
          text: "I remember 0 turns.\nBefore this prompt came: <earlier>\n",
        },
      },
    ]);
  });

  it("has forgotten what was refused or failed", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("say kept");
    await client.prompt("say refused", "refuse");
    await client.prompt("say failed", "fail 7 no");
    expect((await client.prompt("recall")).text).toContain('1 turn; last you said "say kept"');
  });
});

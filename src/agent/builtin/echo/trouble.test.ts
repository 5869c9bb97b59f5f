import { afterEach, describe, expect, it } from "vitest";
import { notificationLine, OVERLONG } from "../../../wire/rpc.ts";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

describe("echo, told to die,", () => {
  it.each([
    ["crash", { code: 1, signal: null }],
    ["crash 0", { code: 0, signal: null }],
    ["crash 77", { code: 77, signal: null }],
    ["signal SIGKILL", { code: null, signal: "SIGKILL" }],
    ["signal SIGTERM", { code: null, signal: "SIGTERM" }],
  ])("has said before what it had to say: %s", async (line, exit) => {
    const client = await EchoClient.withSession();
    void client.prompt("chunks 1000 100", "stderr last words", line, "say never");
    expect(await client.exited).toEqual(exit);
    expect(client.updates()).toHaveLength(1_000);
    expect(client.stderr).toContain("last words\n");
  });

  it("goes on after a signal that does not kill", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("signal SIGWINCH", "say alive")).text).toBe("alive");
  });
});

describe("echo, told to write nonsense,", () => {
  it("writes lines that are no messages, and goes on", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("garbage 3", "say a")).text).toBe("a");
    expect(client.noise).toEqual([1, 2, 3].map((n) => `garbage ${n}: {"jsonrpc": "2.0", "id":`));
  });

  it("writes a line of an exact length that is a message", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("longline 5000", "longline 1", "longline 1m");
    const lengths = updates.map((update) => {
      return notificationLine("session/update", { sessionId: "sess-1", update }).length - 1;
    });
    expect(lengths[0]).toBe(5_000);
    expect(lengths[1]).toBeGreaterThan(1);
    expect(lengths[2]).toBe(1_048_576);
  });

  it("floods without a newline, and goes on", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("flood 100_001", "flood 65m", "say a")).text).toBe("a");
    expect(client.noise).toEqual(["x".repeat(100_001), OVERLONG]);
  });

  it("sends an update that is too deep for those who recurse", async () => {
    const client = await EchoClient.withSession();
    const { updates } = await client.prompt("deep 3", "deep 50_000", "say a");
    expect(updates[0]).toMatchObject({ sessionUpdate: "tool_call_update", rawOutput: [[[]]] });
    expect(updates).toHaveLength(2);
    expect(client.noise).toHaveLength(1);
    expect(() => JSON.stringify(JSON.parse(String(client.noise[0])))).toThrow(RangeError);
  });

  it("speaks of sessions and requests that do not exist", async () => {
    const client = await EchoClient.withSession();
    await client.prompt("stray");
    expect(client.heard).toMatchObject([
      { kind: "notification", params: { sessionId: "sess-of-nobody" } },
      { kind: "result", id: "an-id-of-nobody" },
    ]);
  });
});

describe("a child of echo", () => {
  const isThere = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  it.each(["fork-child", "fork-child detached", "fork-child detached holds-output"])(
    "outlives it: %s",
    async (line) => {
      const client = await EchoClient.withSession();
      const pid = Number(/^child (\d+)\n$/.exec((await client.prompt(line)).text)?.[1]);
      try {
        client.endInput();
        const [code] = await new Promise<unknown[]>((resolve) => {
          client.child.once("exit", (...exit) => resolve(exit));
        });
        expect(code).toBe(0);
        expect(isThere(pid)).toBe(true);
        // Its output does not end before all have let go of it.
        if (line.includes("holds-output")) expect(client.child.stdout?.readableEnded).toBe(false);
      } finally {
        process.kill(pid, "SIGKILL");
      }
      await client.exited;
    },
  );
});

describe("echo, told nonsense,", () => {
  it("says that it was, and goes on", async () => {
    const client = await EchoClient.withSession();
    client.send('what is this?\n[]\n{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":900,"result":{}}\n');
    expect((await client.prompt("say a")).text).toBe("a");
    const errors = client.heard.filter(({ kind }) => kind === "error");
    expect(errors).toHaveLength(3);
    expect(errors).toMatchObject(Array(3).fill({ id: null, error: { code: -32700 } }));
  });

  it("takes no line that is longer than it may be", async () => {
    const client = await EchoClient.withSession();
    client.send(`${"x".repeat(33 * 1_024 * 1_024)}\n`);
    expect((await client.prompt("say a")).text).toBe("a");
    expect(client.heard[0]).toMatchObject({ id: null, error: { message: "the line is too long" } });
  });

  it("refuses requests that are none", async () => {
    const client = await EchoClient.withSession();
    const sessionId = "sess-1";
    const text = { type: "text", text: "a" };
    const refused: readonly (readonly [number, string, object])[] = [
      [-32601, "session/dance", {}],
      [-32602, "session/new", { cwd: "tmp", mcpServers: [] }],
      [-32602, "session/new", { mcpServers: [] }],
      [-32602, "session/new", { cwd: "/", mcpServers: {} }],
      [-32602, "session/new", { cwd: "/", mcpServers: [], systemPrompt: { mode: "override" } }],
      [-32602, "session/prompt", { sessionId }],
      [-32602, "session/prompt", { sessionId, prompt: ["a"] }],
      [-32602, "session/prompt", { sessionId, prompt: [{ type: "smell" }] }],
      [-32602, "session/prompt", { sessionId, prompt: [{ type: "audio" }] }],
      [-32002, "session/prompt", { sessionId: "sess-2", prompt: [text] }],
      [-32002, "session/load", { sessionId: "../../etc/passwd", cwd: "/", mcpServers: [] }],
      [-32002, "session/resume", { sessionId: "sess-2", cwd: "/" }],
      [-32002, "session/fork", { sessionId: "sess-2", cwd: "/" }],
      [-32002, "session/close", { sessionId: "sess-2" }],
      [-32602, "session/set_mode", { sessionId, modeId: "fast" }],
      [-32602, "session/set_config_option", { sessionId, configId: "model", value: "gpt" }],
      [-32602, "session/set_config_option", { sessionId, configId: "loud", value: "true" }],
      [-32602, "session/list", { cursor: "sess-9" }],
      [-32602, "authenticate", { methodId: "password" }],
    ];
    for (const [code, method, params] of refused) {
      const got = await client.errorCode(method, { ...params });
      expect([method, params, got]).toEqual([method, params, code]);
    }
  });
});

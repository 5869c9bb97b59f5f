import { afterEach, describe, expect, it } from "vitest";
import { EchoClient, endEchoes } from "./echo-client.fixture.ts";

afterEach(async () => expect(await endEchoes()).toEqual([]));

const READ = "fs/read_text_file";
const WRITE = "fs/write_text_file";

describe("echo, told to reach for files,", () => {
  it("reads them through the client, by absolute paths", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(READ, () => ({ content: "inside" }));
    const turn = await client.prompt("read ./a", "read /b 2 3", "read ../c 0");
    expect(client.requests(READ)).toEqual([
      { sessionId: "sess-1", path: "/tmp/a" },
      { sessionId: "sess-1", path: "/b", line: 2, limit: 3 },
      { sessionId: "sess-1", path: "/c", line: 0 },
    ]);
    expect(turn.text).toBe("read ./a: inside\nread /b: inside\nread ../c: inside\n");
  });

  it("writes them through the client", async () => {
    const client = await EchoClient.withSession();
    client.serves.set(WRITE, () => ({}));
    expect((await client.prompt(String.raw`write ./a "b\n"`)).text).toBe("write ./a: done\n");
    expect(client.requests(WRITE)).toEqual([
      { sessionId: "sess-1", path: "/tmp/a", content: "b\n" },
    ]);
    client.serves.delete(WRITE);
    expect((await client.prompt("write /a b")).text).toContain("failed with -32601: not served");
  });

  it("does not, where the client does not offer it", async () => {
    const client = new EchoClient();
    await client.initialize({});
    await client.newSession();
    expect((await client.prompt("read /a", "write /a b", "run ls")).text).toBe(
      "the client reads no files\nthe client writes no files\nthe client has no terminals\n",
    );
  });

  it("calls and notifies whatever it is told to, offered or not", async () => {
    const client = new EchoClient();
    await client.initialize({});
    await client.newSession();
    client.serves.set(READ, () => ({ content: "x" }));
    const turn = await client.prompt(
      `call ${READ} {"path": "/etc/passwd"}`,
      `call ${READ} {"path": "/a", "sessionId": "other"}`,
      `notify ${WRITE} {"odd": true}`,
      "call _vendor/none",
    );
    expect(client.requests(READ)).toEqual([
      { sessionId: "sess-1", path: "/etc/passwd" },
      { sessionId: "other", path: "/a" },
    ]);
    expect(turn.text).toBe(
      `call ${READ}: {"content":"x"}\ncall ${READ}: {"content":"x"}\n` +
        "call _vendor/none: failed with -32601: not served\n",
    );
    expect(client.heard).toContainEqual({
      kind: "notification",
      method: WRITE,
      params: { odd: true },
    });
    expect(client.forgive()).not.toEqual([]);
  });
});

describe("echo, told to run a command,", () => {
  const terminals = (client: EchoClient, exit: () => unknown) => {
    client.serves.set("terminal/create", () => ({ terminalId: "t" }));
    client.serves.set("terminal/wait_for_exit", exit);
    client.serves.set("terminal/output", () => ({ output: "out", truncated: false }));
    client.serves.set("terminal/kill", () => ({}));
    client.serves.set("terminal/release", () => ({}));
  };
  const terminalCalls = (client: EchoClient) =>
    client.heard.flatMap((one) => {
      const isCall = one.kind === "request" && one.method.startsWith("terminal/");
      return isCall ? [one.method] : [];
    });

  it("makes a terminal, waits, reads what came out, and lets go of it", async () => {
    const client = await EchoClient.withSession();
    terminals(client, () => ({ exitCode: 0, signal: null }));
    const turn = await client.prompt('run ls -l "a b"');
    expect(turn.text).toBe('run ls: {"exitCode":0,"signal":null}\nout\n');
    expect(client.requests("terminal/create")).toEqual([
      { sessionId: "sess-1", command: "ls", args: ["-l", "a b"], cwd: "/tmp" },
    ]);
    expect(terminalCalls(client)).toEqual([
      "terminal/create",
      "terminal/wait_for_exit",
      "terminal/output",
      "terminal/release",
    ]);
  });

  it("has a tool call name the terminal, at its beginning and at its end, if told to", async () => {
    const client = await EchoClient.withSession();
    terminals(client, () => ({ exitCode: 0, signal: null }));
    const turn = await client.prompt("run tool=c1 ls -l");
    const content = [{ type: "terminal", terminalId: "t" }];
    expect(turn.text).toBe("");
    expect(turn.updates).toMatchObject([
      { sessionUpdate: "tool_call", toolCallId: "c1", title: "ls -l", kind: "execute", content },
      { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", content },
    ]);
  });

  it("says so if there is no terminal to be had", async () => {
    const client = await EchoClient.withSession();
    expect((await client.prompt("run ls")).text).toBe("run ls: failed with -32601: not served\n");
  });

  it("kills it when the turn is cancelled, and says that it does not wait any more", async () => {
    const client = await EchoClient.withSession();
    terminals(client, () => new Promise(() => {}));
    const turn = client.prompt("run sleep 1000", "say never");
    await client.until(() => client.requests("terminal/wait_for_exit").length > 0);
    client.notify("session/cancel", { sessionId: "sess-1" });
    const { reply, text } = await turn;
    expect(reply).toEqual({ result: { stopReason: "cancelled" } });
    expect(text).not.toContain("never");
    expect(terminalCalls(client).slice(2)).toEqual([
      "terminal/kill",
      "terminal/output",
      "terminal/release",
    ]);
    const wait = client.heard.find((one) => {
      return one.kind === "request" && one.method === "terminal/wait_for_exit";
    });
    expect(client.heard).toContainEqual({
      kind: "notification",
      method: "$/cancel_request",
      params: { requestId: wait?.kind === "request" ? wait.id : null },
    });
  });
});
